package kvstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/kvstore"
)

// Two callers meet at a window boundary: one counts before it and one after. The second one must see the first, also
// where both have read before either has added.
func TestCallersMeetAtABoundary(t *testing.T) {
	const skew = 5 * time.Second
	limit := limiter.PerMinute(10)
	type world struct {
		clock      *manualClock
		add        *func(context.Context, string, int64) error // the hook of both KVs
		slow, fast *kvstore.Store                              // the clock of fast is ahead by skew
	}
	for _, tc := range []struct {
		name string
		meet func(*testing.T, world) (first, second limiter.Charge)
	}{
		{"the slow clock comes second", func(t *testing.T, w world) (first, second limiter.Charge) {
			first = take(t, w.fast, charge(limit, 10))
			return first, take(t, w.slow, charge(limit, 2))
		}},
		{"the fast clock comes second", func(t *testing.T, w world) (first, second limiter.Charge) {
			first = take(t, w.slow, charge(limit, 10))
			return first, take(t, w.fast, charge(limit, 2))
		}},
		{"the fast clock adds after the slow one has read", func(t *testing.T, w world) (first, second limiter.Charge) {
			*w.add = once(func() { first = take(t, w.fast, charge(limit, 10)) })
			return first, take(t, w.slow, charge(limit, 2))
		}},
		{"the slow clock adds after the fast one has read", func(t *testing.T, w world) (first, second limiter.Charge) {
			*w.add = once(func() { first = take(t, w.slow, charge(limit, 10)) })
			return first, take(t, w.fast, charge(limit, 2))
		}},
		{"one clock, and a call that takes past the boundary", func(t *testing.T, w world) (first, second limiter.Charge) {
			*w.add = once(func() {
				w.clock.Advance(skew)
				first = take(t, w.slow, charge(limit, 10))
			})
			return first, take(t, w.slow, charge(limit, 2))
		}},
		{"a cached window, and a call past the boundary", func(t *testing.T, w world) (first, second limiter.Charge) {
			w.clock.Advance(40 * time.Second)
			take(t, w.slow, charge(limit, 1)) // from here on it adds without reading
			*w.add = once(func() {
				w.clock.Advance(23 * time.Second)
				first = take(t, w.slow, charge(limit, 9))
			})
			return first, take(t, w.slow, charge(limit, 2))
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			clock := newClock()
			add := func(context.Context, string, int64) error { return nil }
			kv := hooked{
				KV:  newMapKV(clock.Now),
				add: func(ctx context.Context, key string, delta int64) error { return add(ctx, key, delta) },
			}
			w := world{clock: clock, add: &add}
			clock.Advance(10*time.Minute - 3*time.Second) // 3 s before a boundary, which is 2 s ago for fast
			w.slow = newStore(t, kv, kvstore.Config{Timeout: patient, Skew: skew, Now: clock.Now})
			w.fast = newStore(t, kv, kvstore.Config{Timeout: patient, Skew: skew, Now: clock.ahead(skew)})
			first, second := tc.meet(t, w)
			if !first.Allowed || second.Allowed {
				t.Errorf("allowed: first %v, second %v, want true and false\n first %+v\nsecond %+v",
					first.Allowed, second.Allowed, first, second)
			}
			peek := charge(limit, 0)
			peek.Mode = limiter.Peek
			// The units of the refused charge have been subtracted.
			if got := take(t, w.slow, peek); got.Current+got.Previous != 10 {
				t.Errorf("counted: %d and %d, want 10 together", got.Current, got.Previous)
			}
		})
	}
}

// Windows without a charge are skipped: counts from two or more windows ago must not count.
func TestSkippedWindows(t *testing.T) {
	for _, algorithm := range []limiter.Algorithm{limiter.SlidingWindow, limiter.FixedWindow} {
		for _, windows := range []int{2, 3, 33, 60} {
			clock := newClock()
			store := newStore(t, newMapKV(clock.Now), kvstore.Config{Timeout: patient, Now: clock.Now})
			limit := limiter.Limit{Requests: 10, Window: time.Minute, Algorithm: algorithm}
			take(t, store, charge(limit, 10))
			clock.Advance(time.Duration(windows) * limit.Window)
			if got := take(t, store, charge(limit, 10)); !got.Allowed {
				t.Errorf("%v, %d windows later: %+v, want all of it free", algorithm, windows, got)
			}
		}
	}
}
