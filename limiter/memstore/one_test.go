package memstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
)

// TestTakeOneDecidesAsTake: of two counters that are charged alike, one by TakeOne and one by Take.
func TestTakeOneDecidesAsTake(t *testing.T) {
	ctx := t.Context()
	for _, algorithm := range algorithms {
		for _, requests := range []int64{0, 5} {
			t.Run(fmt.Sprintf("%v/requests=%d", algorithm, requests), func(t *testing.T) {
				random, store := rand.New(rand.NewPCG(1, 2)), newStore(t, 0)
				advance := memstore.StopClock(store)
				l := limiter.Limit{Requests: requests, Window: time.Minute, Algorithm: algorithm}
				for range 2000 {
					advance(time.Duration(random.IntN(20)) * time.Second)
					cost, mode := random.Int64N(8)-1, limiter.Mode(random.IntN(4))
					got, err := store.TakeOne(ctx, "one", "key", &l, cost, mode)
					if err != nil {
						t.Fatal(err)
					}
					batch := []limiter.Charge{{Scope: "batch", Key: "key", Limit: l, Cost: cost, Mode: mode}}
					if _, err := store.Take(ctx, batch); err != nil {
						t.Fatal(err)
					}
					if got != batch[0].Decision {
						t.Fatalf("cost %d, mode %d: got %+v, Take says %+v", cost, mode, got, batch[0].Decision)
					}
				}
			})
		}
	}
}

func TestTakeOneFails(t *testing.T) {
	store := newStore(t, 0)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	valid, invalid := limiter.PerMinute(1), limiter.Limit{Requests: 1}
	if _, err := store.TakeOne(ended, "scope", "key", &valid, 1, limiter.Enforce); err != context.Canceled {
		t.Errorf("a context that has ended: got %v, want %v", err, context.Canceled)
	}
	if _, err := store.TakeOne(t.Context(), "scope", "key", &invalid, 1, limiter.Enforce); err == nil {
		t.Error("a limit without a window: got no error")
	}
	if d, err := store.TakeOne(t.Context(), "scope", "key", &valid, 1, limiter.Enforce); !d.Allowed || err != nil {
		t.Errorf("after both: got %+v, %v, want that nothing was spent", d, err)
	}
}

// refusing has a memstore embedded and decides in a way of its own.
type refusing struct{ *memstore.Store }

func (refusing) Take(context.Context, []limiter.Charge) (bool, error) { return false, nil }

func TestLimiterAsksTheStoreThatItWasGiven(t *testing.T) {
	l, err := limiter.New(refusing{newStore(t, 0)}, "scope", limiter.PerMinute(5))
	if err != nil {
		t.Fatal(err)
	}
	if d, err := l.Allow(t.Context(), "key"); d.Allowed || err != nil {
		t.Errorf("a store that refuses everything: got %+v, %v", d, err)
	}
}
