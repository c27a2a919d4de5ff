package memcachestore_test

import (
	"testing"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memcachestore"
)

// A suspended client is refused whether memcached is up or not: here nothing listens.
func TestLimitOfZeroNeedsNoServer(t *testing.T) {
	store := newStore(t, memcache.New("127.0.0.1:1"), memcachestore.Config{})
	for range 10 {
		got := take(t, store, charge(limiter.PerMinute(0), 1))
		if want := (limiter.Decision{RetryAfter: limiter.Never}); got.Decision != want || !got.Cached {
			t.Fatalf("got %+v, cached %t, want %+v, true", got.Decision, got.Cached, want)
		}
	}
	if !store.Healthy() {
		t.Error("the store is not healthy, want it not to have asked")
	}
}
