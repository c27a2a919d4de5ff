package memstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/internal/single"
	"github.com/httplimit/httplimit/limiter/memstore"
)

// TestSingleDecidesAsTake: of two counters that are charged alike, one by Single and one by Take.
func TestSingleDecidesAsTake(t *testing.T) {
	ctx := t.Context()
	for _, algorithm := range algorithms {
		for _, requests := range []int64{0, 5} {
			t.Run(fmt.Sprintf("%v/requests=%d", algorithm, requests), func(t *testing.T) {
				random, store := rand.New(rand.NewPCG(1, 2)), newStore(t, 0)
				advance := memstore.StopClock(store)
				l := limiter.Limit{Requests: requests, Window: time.Minute, Algorithm: algorithm}
				_, takeSingle := store.Single(single.Only{}, "single", l)
				for range 2000 {
					advance(time.Duration(random.IntN(20)) * time.Second)
					cost, mode := random.Int64N(8)-1, limiter.Mode(random.IntN(4))
					got, err := takeSingle(ctx, "key", cost, mode)
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

func TestSingleOfAnEndedContext(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, requests := range []int64{0, 1} {
		_, takeSingle := newStore(t, 0).Single(single.Only{}, "scope", limiter.PerMinute(requests))
		if _, err := takeSingle(ended, "key", 1, limiter.Enforce); err != context.Canceled {
			t.Errorf("limit %d, a context that has ended: got %v, want %v", requests, err, context.Canceled)
		}
		d, err := takeSingle(t.Context(), "key", 1, limiter.Enforce)
		if d.Allowed != (requests > 0) || err != nil {
			t.Errorf("limit %d, after it: got %+v, %v, want that nothing was spent", requests, d, err)
		}
	}
}

// TestSingleSharesCounters with Take, also between limits that differ in Requests alone, and after its table was
// dropped, whose place another one has.
func TestSingleSharesCounters(t *testing.T) {
	ctx, store := t.Context(), newStore(t, 0)
	advance := memstore.StopClock(store)
	few, many := limiter.PerMinute(5), limiter.PerMinute(10)
	_, takeFew := store.Single(single.Only{}, "scope", few)
	want := func(wanted int64) {
		t.Helper()
		d, err := takeFew(ctx, "key", 1, limiter.Enforce)
		if err != nil || d.Remaining != wanted {
			t.Errorf("got %+v, %v, want %d remaining", d, err, wanted)
		}
		if c := spend(t, store, "key", many, 1); c.Remaining != wanted+4 {
			t.Errorf("the higher limit: got %+v, want %d remaining", c.Decision, wanted+4)
		}
	}
	want(4)
	want(2)
	advance(time.Hour)
	for i := range 100 { // more windows than a store has tables
		l := limiter.Per(1, time.Duration(i+1)*time.Second)
		if _, err := store.Take(ctx, one("other", l, 1)[:]); err != nil {
			t.Fatal(err)
		}
		advance(10 * time.Minute)
	}
	want(4)
	want(2)
}

// refusing has a memstore embedded and decides in a way of its own.
type refusing struct{ *memstore.Store }

func (refusing) Take(context.Context, []limiter.Charge) (bool, error) { return false, nil }

func TestLimiterAsksTheStoreThatItWasGiven(t *testing.T) {
	for name, embedded := range map[string]*memstore.Store{"a memstore": newStore(t, 0), "nil": nil} {
		l, err := limiter.New(refusing{embedded}, "scope", limiter.PerMinute(5))
		if err != nil {
			t.Fatal(err)
		}
		if d, err := l.Allow(t.Context(), "key"); d.Allowed || err != nil {
			t.Errorf("a store that refuses everything and has %s embedded: got %+v, %v", name, d, err)
		}
	}
}
