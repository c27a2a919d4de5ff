package memstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
)

var algorithms = []limiter.Algorithm{
	limiter.SlidingWindow, limiter.SlidingLog, limiter.FixedWindow, limiter.TokenBucket,
	limiter.StrictWindow,
}

func newStore(tb testing.TB, maxKeys int) *memstore.Store {
	tb.Helper()
	store, err := memstore.New(memstore.Config{MaxKeys: maxKeys})
	if err != nil {
		tb.Fatal(err)
	}
	return store
}

func one(key string, l limiter.Limit, cost int64) *[1]limiter.Charge {
	return &[1]limiter.Charge{{Scope: "scope", Key: key, Limit: l, Cost: cost}}
}

// take fails the test or benchmark unless the charge is decided as wanted.
func take(tb testing.TB, store limiter.Store, want bool, c *[1]limiter.Charge) {
	taken, err := store.Take(context.Background(), c[:])
	if err != nil || taken != want {
		tb.Errorf("Take(%q, %v): got %v, %v, want %v", c[0].Key, c[0].Limit, taken, err, want)
	}
}

// spend takes cost units of key and returns the charge as decided.
func spend(t testing.TB, store limiter.Store, key string, l limiter.Limit, cost int64) limiter.Charge {
	t.Helper()
	c := one(key, l, cost)
	if _, err := store.Take(context.Background(), c[:]); err != nil {
		t.Fatal(err)
	}
	return c[0]
}

// align sets the two clocks to the same moment.
func align(t *testing.T, a, b limiter.Store, advanceA, advanceB func(time.Duration)) {
	t.Helper()
	l := limiter.PerSecond(1)
	at, bt := spend(t, a, "", l, 0).At, spend(t, b, "", l, 0).At
	advanceA(time.Duration(max(0, bt-at)) * time.Millisecond)
	advanceB(time.Duration(max(0, at-bt)) * time.Millisecond)
}
