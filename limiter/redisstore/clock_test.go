package redisstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/redisstore"
)

// setBack sets the clock back as on a real server, where keys end at a moment: they have the longer to live. The
// conformance suite runs on the fake server as it is, where they have a time left.
func (f *fake) setBack(d time.Duration) {
	for _, key := range f.Keys() {
		f.SetTTL(key, f.TTL(key)+d)
	}
	f.advance(-d)
}

func TestServerClockGoesBack(t *testing.T) {
	t.Parallel()
	const window = time.Minute
	server := startFake(t)
	store := newStore(t, connect(t, server.Addr()), redisstore.Config{DenyCache: noCache})
	for _, windows := range []time.Duration{1, 2, 3, 15, 16, 17, 30, 31, 32, 33, 63, 64, 960, 57_600} {
		for _, algorithm := range everyAlgorithm {
			t.Run(fmt.Sprintf("%v by %d windows", algorithm, windows), func(t *testing.T) {
				limit := per(algorithm, 10, window)
				server.advance(100 * 24 * time.Hour) // so that every case is set back to where nobody has been
				full, some := charge("full", limit, 10), charge("some", limit, 4)
				full.Scope, some.Scope = t.Name(), t.Name()
				take(t, store, full)
				take(t, store, some)
				server.setBack(windows * window)

				one := full
				one.Cost = 1
				taken, got := take(t, store, one)
				longest := 2 * window
				if algorithm == limiter.TokenBucket {
					longest = window
				}
				wait := got[0].RetryAfter
				if taken || wait <= 0 || wait > longest {
					t.Fatalf("taken %v, retry after %v, want a refusal for at most %v", taken, wait, longest)
				}
				some.Mode = limiter.Peek
				if _, got := take(t, store, some); got[0].Remaining > 6 {
					t.Errorf("4 of 10 units spent leave %d, want at most 6", got[0].Remaining)
				}
				server.advance(wait - time.Millisecond)
				if taken, _ := take(t, store, one); taken {
					t.Error("let in 1 ms before the time that was told")
				}
				server.advance(time.Millisecond)
				if taken, _ := take(t, store, one); !taken {
					t.Error("refused after the time that was told")
				}
				server.advance(2 * window)
				if _, got := take(t, store, some); got[0].Remaining != 10 {
					t.Errorf("two windows later %d of 10 are left, want all", got[0].Remaining)
				}
				for _, key := range server.Keys() {
					if life := server.TTL(key); life <= 0 || life > 2*window {
						t.Errorf("key %s lives for %v, want at most %v", key, life, 2*window)
					}
				}
				server.FlushAll()
			})
		}
	}
}

// A log keeps some pairs that have left its window. Where the clock goes back they must not come to life.
func TestDeadUnitsStayDead(t *testing.T) {
	t.Parallel()
	const window = time.Minute
	server := startFake(t)
	store := newStore(t, connect(t, server.Addr()), redisstore.Config{DenyCache: noCache})
	limit := per(limiter.SlidingLog, 200, window)
	for range 150 { // more than are kept
		take(t, store, charge("key", limit, 1))
		server.advance(window / 200)
	}
	server.advance(window / 2)
	_, got := take(t, store, charge("key", limit, 1))
	held := got[0].Current + 1
	server.setBack(40 * 24 * time.Hour)
	if _, got := take(t, store, charge("key", limit, 0)); got[0].Current != held {
		t.Errorf("%d units in use after the clock went back, want %d as before", got[0].Current, held)
	}
}
