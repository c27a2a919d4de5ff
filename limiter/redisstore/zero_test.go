package redisstore_test

import (
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/redisstore"
)

// A suspended client is refused whether Redis is up or not: here nothing listens.
func TestLimitOfZeroNeedsNoServer(t *testing.T) {
	store := newStore(t, connect(t, freeAddr(t)), redisstore.Config{})
	for _, algorithm := range everyAlgorithm {
		for range 10 {
			taken, got := take(t, store, charge("key", per(algorithm, 0, time.Minute), 1))
			if want := (limiter.Decision{RetryAfter: limiter.Never}); taken || got[0].Decision != want || !got[0].Cached {
				t.Fatalf("%v: got %t, %+v, cached %t, want false, %+v, true", algorithm, taken, got[0].Decision, got[0].Cached,
					want)
			}
		}
	}
	if !store.Healthy() {
		t.Error("the store is not healthy, want it not to have asked")
	}
}

// What is charged under a limit of 0 all the same (a cost known only afterwards) is kept, and not for ever: a bucket
// refills one unit a window then.
func TestForceUnderALimitOfZeroEnds(t *testing.T) {
	client := connect(t, startRedis(t))
	store := newStore(t, client, redisstore.Config{DenyCache: noCache})
	const window = time.Minute
	for _, algorithm := range everyAlgorithm {
		forced := charge(algorithm.String(), per(algorithm, 0, window), 3)
		forced.Mode = limiter.Force
		if taken, got := take(t, store, forced); !taken || !got[0].Allowed || got[0].ResetAfter <= 0 {
			t.Errorf("%v: 3 units forced: got %t, %+v, want them spent", algorithm, taken, got[0].Decision)
		}
		if _, got := take(t, store, charge(forced.Key, per(algorithm, 5, window), 1)); got[0].Remaining != 1 {
			t.Errorf("%v: one of 5 after that: got %+v, want 1 remaining", algorithm, got[0].Decision)
		}
		forced.Cost = 1
		take(t, store, forced)
	}
	everyKeyEnds(t, client, 5*window)
}
