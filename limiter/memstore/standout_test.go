package memstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
)

// barred is the limit of a key that is kept out for an hour by two units at once: see keepOut.
var barred = limiter.Limit{Requests: 1, Window: time.Hour, Algorithm: limiter.TokenBucket}

func keepOut(t *testing.T, store limiter.Store, key string) {
	t.Helper()
	c := one(key, barred, 2)
	c[0].Scope, c[0].Mode = "barred", limiter.Force
	take(t, store, true, c)
}

// isOut reports for how long the key is kept out.
func isOut(t *testing.T, store limiter.Store, key string) time.Duration {
	t.Helper()
	c := one(key, barred, 0)
	c[0].Scope = "barred"
	if _, err := store.Take(context.Background(), c[:]); err != nil {
		t.Fatal(err)
	}
	return c[0].RetryAfter
}

// TestKeptOutFindsASlot: the store is full of counters at their limits but for a few, which a newcomer would not find,
// and the one that keeps a key out takes the place of one of those. No flood drives it out until its time has come.
func TestKeptOutFindsASlot(t *testing.T) {
	const most, few = 1 << 14, 1 << 10 // in 256 stripes: four each that are below their limits
	store := newStore(t, most)
	advance := memstore.StopClock(store)
	l := limiter.Limit{Requests: 5, Window: 24 * time.Hour, Algorithm: limiter.FixedWindow}
	for i := range most {
		spend(t, store, fmt.Sprint("limited ", i), l, 5)
	}
	for i := range few {
		c := one(fmt.Sprint("limited ", i), l, 0)
		if err := store.Reset(context.Background(), c[:]); err != nil {
			t.Fatal(err)
		}
		spend(t, store, fmt.Sprint("below ", i), l, 1)
	}
	const out = 20
	for i := range out {
		keepOut(t, store, fmt.Sprint(i))
	}
	for i := range 4 * most {
		spend(t, store, fmt.Sprint("flood ", i), l, 1+4*int64(i%2))
	}
	advance(time.Hour - time.Millisecond)
	for i := range out {
		if got := isOut(t, store, fmt.Sprint(i)); got != time.Millisecond {
			t.Errorf("key %d, a millisecond before its time: got out for %v, want 1ms", i, got)
		}
	}
	advance(time.Millisecond)
	for i := range out {
		if got := isOut(t, store, fmt.Sprint(i)); got != 0 {
			t.Errorf("key %d, when its time has come: got out for %v, want 0", i, got)
		}
	}
}

// TestSketchKeepsNobodyOut: where nobody can be forgotten and more keys are kept out than the store has slots for, no
// other key is kept out for one of them; buckets of the same window that are at their limits stay so.
func TestSketchKeepsNobodyOut(t *testing.T) {
	const most = 256
	store := newStore(t, most)
	memstore.StopClock(store)
	l := limiter.Limit{Requests: 5, Window: time.Hour, Algorithm: limiter.TokenBucket}
	for i := range most {
		keepOut(t, store, fmt.Sprint("first ", i))
	}
	for i := range 20 * most {
		keepOut(t, store, fmt.Sprint("more ", i))
	}
	for i := range 10 {
		spend(t, store, fmt.Sprint("limited ", i), l, 5)
		if c := spend(t, store, fmt.Sprint("limited ", i), l, 1); c.Allowed {
			t.Errorf("limited %d: got %+v, want it refused", i, c.Decision)
		}
	}
	wrong, freed := 0, 0
	for i := range most {
		if isOut(t, store, fmt.Sprint("nobody ", i)) != 0 {
			wrong++
		}
		if isOut(t, store, fmt.Sprint("first ", i)) != time.Hour {
			freed++
		}
	}
	if wrong > 0 || freed > 0 {
		t.Errorf("got %d keys kept out for others and %d freed, of %d each, want none", wrong, freed, most)
	}
	if stats := store.Stats(); stats.Overflowed == 0 {
		t.Errorf("got %+v, want something in the sketch", stats)
	}
}

// TestShadowIsCountedBelow: a Shadow charge without a slot is counted too low, not for what others have in the sketch,
// and takes nothing from those whom a limit refuses; with a slot it is counted as it is.
func TestShadowIsCountedBelow(t *testing.T) {
	const most = 256
	for _, algorithm := range algorithms {
		t.Run(algorithm.String(), func(t *testing.T) {
			store := newStore(t, most)
			memstore.StopClock(store)
			l := limiter.Limit{Requests: 2, Window: time.Hour, Algorithm: algorithm}
			shadow := func(key string) limiter.Charge {
				c := one(key, l, 1)
				c[0].Mode = limiter.Shadow
				take(t, store, true, c)
				return c[0]
			}
			for i, want := range []bool{true, true, false} {
				if c := shadow("first"); c.Allowed != want {
					t.Errorf("charge %d with a slot: got %+v, want allowed %v", i, c.Decision, want)
				}
			}
			for i := range 20 * most {
				spend(t, store, fmt.Sprint(i), l, 2)
			}
			before := store.Stats().Overflowed
			for i := range most {
				for range 3 {
					if c := shadow(fmt.Sprint("newcomer ", i)); !c.Allowed {
						t.Fatalf("newcomer %d: got %+v, want it allowed", i, c.Decision)
					}
				}
			}
			if after := store.Stats().Overflowed; after != before {
				t.Errorf("got %d charges more in the sketch, want none", after-before)
			}
		})
	}
}

// TestShadowBesideOthersOfItsCounter: where the same counter refuses somebody in the batch, it is not counted too low.
func TestShadowBesideOthersOfItsCounter(t *testing.T) {
	store := newStore(t, 1)
	memstore.StopClock(store)
	l := limiter.PerHour(2)
	spend(t, store, "stays", l, 2)
	batch := make([]limiter.Charge, 2)
	for i := range batch {
		batch[i] = limiter.Charge{Scope: "scope", Key: "newcomer", Limit: l, Cost: 1}
	}
	batch[0].Mode = limiter.Shadow
	for i, want := range []bool{true, false} {
		if taken, err := store.Take(context.Background(), batch); err != nil || taken != want {
			t.Errorf("batch %d: got %v, %v, want %v", i, taken, err, want)
		}
	}
}
