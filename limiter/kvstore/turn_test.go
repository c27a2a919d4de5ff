package kvstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/kvstore"
)

// once returns a hook for Add that calls f before the first addition.
func once(f func()) func(context.Context, string, int64) error {
	called := false
	return func(context.Context, string, int64) error {
		if !called {
			called = true
			f()
		}
		return nil
	}
}

// Two callers meet at the turn of a window: one counts before it and one after. Whoever comes second must see the
// first, also where both have read before either has added.
func TestCallersMeetAtATurn(t *testing.T) {
	const skew = 5 * time.Second
	limit := limiter.PerMinute(10)
	type world struct {
		clock *hand
		add   *func(context.Context, string, int64) error // the hook of the first caller's KV
		// Both processes' clocks are within skew: fast is ahead.
		slow, fast *kvstore.Store
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
		{"one clock, and a trip that takes past the turn", func(t *testing.T, w world) (first, second limiter.Charge) {
			*w.add = once(func() {
				w.clock.Advance(skew)
				first = take(t, w.slow, charge(limit, 10))
			})
			return first, take(t, w.slow, charge(limit, 2))
		}},
		{"a remembered window before, and a trip past the turn", func(t *testing.T, w world) (first, second limiter.Charge) {
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
			clock := newHand()
			add := func(context.Context, string, int64) error { return nil }
			kv := hooked{
				KV:  newMapKV(clock.Now),
				add: func(ctx context.Context, key string, delta int64) error { return add(ctx, key, delta) },
			}
			w := world{clock: clock, add: &add}
			clock.Advance(10*time.Minute - 3*time.Second) // 3 s before a turn, which is 2 s behind for fast
			w.slow = newStore(t, kv, kvstore.Config{Timeout: patient, Skew: skew, Now: clock.Now})
			w.fast = newStore(t, kv, kvstore.Config{Timeout: patient, Skew: skew, Now: func() time.Time { return clock.Now().Add(skew) }})
			first, second := tc.meet(t, w)
			if !first.Allowed || second.Allowed {
				t.Errorf("allowed: first %v, second %v, want true and false\n first %+v\nsecond %+v", first.Allowed, second.Allowed, first, second)
			}
			// What was refused is given back.
			if got := take(t, w.slow, limiter.Charge{Scope: "s", Key: "k", Limit: limit, Mode: limiter.Peek}); got.Current+got.Previous != 10 {
				t.Errorf("counted: %d and %d, want 10 together", got.Current, got.Previous)
			}
		})
	}
}

// A window is skipped when nobody came: what lies two windows back must not count.
func TestSkippedWindows(t *testing.T) {
	for _, algorithm := range []limiter.Algorithm{limiter.SlidingWindow, limiter.FixedWindow} {
		for _, windows := range []int{2, 3, 33, 60} {
			clock := newHand()
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
