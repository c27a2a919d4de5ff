package kvstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/kvstore"
)

func TestNewReportsEveryFault(t *testing.T) {
	store, err := kvstore.New(nil, kvstore.Config{Timeout: -1, Skew: -1})
	if store != nil || err == nil {
		t.Fatalf("got %v, %v, want no store and an error", store, err)
	}
	for _, field := range []string{"kv", "Timeout", "Skew"} {
		if !strings.Contains(err.Error(), "kvstore: "+field) {
			t.Errorf("%q does not name %s", err, field)
		}
	}
}

func TestUnsupported(t *testing.T) {
	kv := newMapKV(newClock().Now)
	store := newStore(t, kv, kvstore.Config{})
	for algorithm, want := range map[limiter.Algorithm]bool{
		limiter.SlidingWindow: true, limiter.FixedWindow: true, limiter.SlidingLog: false, limiter.TokenBucket: false,
		limiter.StrictWindow: false,
	} {
		limit := limiter.PerMinute(5)
		limit.Algorithm = algorithm
		if err := store.Check(limit); errors.Is(err, limiter.ErrUnsupported) == want || (err == nil) != want {
			t.Errorf("Check of %v: got %v, want supported %v", algorithm, err, want)
		}
		if _, err := limiter.New(store, "s", limit); (err == nil) != want {
			t.Errorf("a Limiter of %v: got %v, want supported %v", algorithm, err, want)
		}
		if want {
			continue
		}
		batch := []limiter.Charge{charge(limiter.PerMinute(5), 1), charge(limit, 1)}
		if _, err := store.Take(context.Background(), batch); !errors.Is(err, limiter.ErrUnsupported) {
			t.Errorf("Take of %v: got %v, want an error that wraps ErrUnsupported", algorithm, err)
		}
	}
	if got := kv.sum(); got != 0 {
		t.Errorf("spent by batches with an unsupported algorithm: %d units, want 0", got)
	}
	if err := store.Check(limiter.Limit{}); err == nil || errors.Is(err, limiter.ErrUnsupported) {
		t.Errorf("Check of an invalid limit: got %v, want an error that names its fields", err)
	}
}
