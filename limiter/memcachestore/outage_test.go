package memcachestore_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memcachestore"
	"github.com/httplimit/httplimit/limiter/storekit"
)

// memcached is killed and started again under load: errors while it is away, at once after the first few, and counts
// that start anew.
func TestKilledAndRestartedUnderLoad(t *testing.T) {
	memcached := startServer(t)
	client := newClient(t, memcached)
	client.Timeout = 0 // as it comes: ten times as long as a decision may take
	store := newStore(t, client, memcachestore.Config{Prefix: newPrefix(), DenyCache: -1})
	limit := limiter.PerHour(1_000_000)

	var passed, failed, unavailable atomic.Int64
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				taken, err := store.Take(context.Background(), []limiter.Charge{charge(limit, 1)})
				switch {
				case taken:
					passed.Add(1)
				case errors.Is(err, storekit.ErrOpen):
					unavailable.Add(1)
					time.Sleep(time.Millisecond) // or the refusals would take the machine's time from the rest
				case err != nil:
					failed.Add(1)
				}
			}
		})
	}
	wait := func(what string, reached func() bool) {
		for range 3000 {
			if reached() {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Errorf("%s: not within half a minute", what)
	}
	wait("decisions", func() bool { return passed.Load() > 1000 })
	memcached.kill()
	wait("errors at once", func() bool { return unavailable.Load() > 100 && !store.Healthy() })
	before := passed.Load()
	memcached.start(t)
	wait("decisions again", func() bool { return passed.Load() > before+1000 && store.Healthy() })
	close(stop)
	wg.Wait()

	if failed.Load() == 0 {
		t.Error("no errors while memcached was away")
	}
	look := charge(limit, 0)
	look.Mode = limiter.Peek
	// Additions whose answer was lost may have been carried out.
	if got, most := take(t, store, look).Current, passed.Load()-before+failed.Load(); got > most {
		t.Errorf("counted after the restart: %d, want at most the %d asked for since", got, most)
	}
}

// The client has no deadlines but its own, and a server that accepts and says nothing holds it as long.
func TestSilentServer(t *testing.T) {
	for _, direct := range []bool{false, true} {
		t.Run(fmt.Sprintf("direct %v", direct), func(t *testing.T) { testSilentServer(t, direct) })
	}
}

func testSilentServer(t *testing.T, direct bool) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	client := newClient(t, &server{address: listener.Addr().String()})
	if direct {
		client.Timeout = 2 * time.Millisecond
	}
	store := newStore(t, client, memcachestore.Config{Timeout: 10 * time.Millisecond, Direct: direct})
	for i := range 100 {
		_, err := store.Take(context.Background(), []limiter.Charge{charge(limiter.PerMinute(5), 1)})
		var open *storekit.UnavailableError
		switch {
		case errors.As(err, &open):
			if open.RetryAfter <= 0 || open.RetryAfter > time.Second {
				t.Errorf("probes again in %v, want up to a second", open.RetryAfter)
			}
			return
		case !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, context.DeadlineExceeded):
			t.Fatalf("call %d: got %v, want an error that says that the time is over", i, err)
		}
	}
	t.Error("100 calls have waited for a server that says nothing")
}

func TestNothingListens(t *testing.T) {
	address := freeAddress(t)
	store := newStore(t, newClient(t, &server{address: address}), memcachestore.Config{Timeout: patient})
	for _, c := range []limiter.Charge{charge(limiter.PerMinute(5), 1), charge(limiter.PerMinute(5), -1), charge(limiter.PerMinute(5), 0)} {
		if _, err := store.Take(context.Background(), []limiter.Charge{c}); err == nil {
			t.Errorf("cost %d: no error", c.Cost)
		}
	}
	if err := store.Reset(context.Background(), []limiter.Charge{charge(limiter.PerMinute(5), 0)}); err == nil {
		t.Error("Reset: no error")
	}
	if !store.Healthy() {
		t.Error("four failures opened the breaker")
	}
}
