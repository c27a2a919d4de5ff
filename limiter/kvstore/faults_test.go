package kvstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/kvstore"
	"github.com/httplimit/httplimit/limiter/storekit"
)

var errDown = errors.New("no such server")

func fail() error { return errDown }

func failGet(context.Context, []string) error { return errDown }

// pair is a batch of two counters.
func pair() []limiter.Charge {
	fixed := limiter.Limit{Requests: 10, Window: time.Minute, Algorithm: limiter.FixedWindow}
	return []limiter.Charge{
		{Scope: "s", Key: "a", Limit: limiter.PerMinute(10), Cost: 3},
		{Scope: "s", Key: "b", Limit: fixed, Cost: 3},
	}
}

func TestErrorsSpendNothing(t *testing.T) {
	short := func(kv kvstore.KV) kvstore.KV { return shortAnswer{kv} }
	type getHook = func(context.Context, []string) error
	type addHook = func(context.Context, string, int64) error
	// An addition hook counts, so every store has one of its own.
	hook := func(get getHook, add func() addHook) func(kvstore.KV) kvstore.KV {
		return func(kv kvstore.KV) kvstore.KV {
			h := hooked{KV: kv, get: get}
			if add != nil {
				h.add = add()
			}
			return h
		}
	}
	addition := func(n int64, f func() error) func(kvstore.KV) kvstore.KV {
		return hook(nil, func() addHook { return nth(n, n, f) })
	}
	for _, tc := range []struct {
		name string
		kv   func(kvstore.KV) kvstore.KV
		want string // in the error
	}{
		{"the read fails", hook(failGet, nil), "no such server"},
		{"the read brings too few counts", short, "of 3 keys returned 2"},
		{"the first addition fails", addition(1, fail), "no such server"},
		{"the second addition fails", addition(2, fail), "no such server"},
		{"the second addition panics", addition(2, func() error { panic("nil map") }), "nil map"},
		{"the read panics", hook(func(context.Context, []string) error { panic("nil map") }, nil), "nil map"},
	} {
		for _, direct := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, direct %v", tc.name, direct), func(t *testing.T) {
				clock := newClock()
				inner := newMapKV(clock.Now)
				store := newStore(t, tc.kv(inner), kvstore.Config{Timeout: patient, Now: clock.Now, Direct: direct})
				taken, err := store.Take(context.Background(), pair())
				if taken || err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("got %v, %v, want false and an error that says %q", taken, err, tc.want)
				}
				if got := inner.sum(); got != 0 {
					t.Errorf("left in the KV: %d units, want 0", got)
				}
			})
		}
	}
}

type shortAnswer struct{ kvstore.KV }

func (kv shortAnswer) Get(ctx context.Context, keys ...string) ([]int64, error) {
	counts, err := kv.KV.Get(ctx, keys...)
	return counts[1:], err
}

// Units that could not be subtracted stay spent: the limit is stricter, never laxer.
func TestCompensationFails(t *testing.T) {
	clock := newClock()
	inner := newMapKV(clock.Now)
	kv := hooked{KV: inner, add: nth(2, 0, fail)}
	store := newStore(t, kv, kvstore.Config{Timeout: patient, Now: clock.Now})
	if _, err := store.Take(context.Background(), pair()); !errors.Is(err, errDown) {
		t.Errorf("got %v, want %v", err, errDown)
	}
	if got := inner.sum(); got != 3 {
		t.Errorf("left in the KV: %d units, want 3", got)
	}
}

func TestFailedResetIsAnError(t *testing.T) {
	store := newStore(t, hooked{KV: newMapKV(time.Now), add: nth(1, 0, fail)}, kvstore.Config{})
	if err := store.Reset(context.Background(), pair()); !errors.Is(err, errDown) {
		t.Errorf("got %v, want %v", err, errDown)
	}
}

// stall waits as a client without deadlines does.
func stall(d time.Duration) func() error {
	return func() error {
		time.Sleep(d)
		return nil
	}
}

func TestDeadline(t *testing.T) {
	const timeout = 50 * time.Millisecond
	for _, tc := range []struct {
		name string
		kv   hooked
	}{
		{"the read stalls", hooked{get: func(context.Context, []string) error { return stall(time.Second)() }}},
		{"the first addition stalls", hooked{add: nth(1, 1, stall(time.Second))}},
		{"the second addition stalls", hooked{add: nth(2, 2, stall(time.Second))}},
		{"everything is slow", hooked{
			get: func(context.Context, []string) error { return stall(20 * time.Millisecond)() },
			add: nth(1, 0, stall(20*time.Millisecond)),
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner := newMapKV(time.Now)
				tc.kv.KV = inner
				store := newStore(t, tc.kv, kvstore.Config{Timeout: timeout})
				start := time.Now()
				_, err := store.Take(context.Background(), pair())
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v, want an error that wraps context.DeadlineExceeded", err)
				}
				if got := time.Since(start); got != timeout {
					t.Errorf("took %v, want %v", got, timeout)
				}
				time.Sleep(time.Minute)
				if got := inner.sum(); got != 0 {
					t.Errorf("left in the KV after the late answer: %d units, want 0", got)
				}
			})
		})
	}
}

// A KV that ends with its context may be called directly: the deadline is the same, but no goroutine stays behind
// that could compensate.
func TestDirectDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := newMapKV(time.Now)
		additions := 0
		kv := hooked{KV: inner, add: func(ctx context.Context, _ string, _ int64) error {
			if additions++; additions == 1 {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}}
		store := newStore(t, kv, kvstore.Config{Direct: true, Timeout: 30 * time.Millisecond})
		start := time.Now()
		_, err := store.Take(context.Background(), pair())
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 30*time.Millisecond {
			t.Errorf("got %v after %v, want context.DeadlineExceeded after 30ms", err, time.Since(start))
		}
		if got := inner.sum(); got != 3 {
			t.Errorf("left in the KV: %d units, want the 3 of the first counter", got)
		}
	})
}

func TestCallerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := newMapKV(time.Now)
		store := newStore(t, hooked{KV: inner, add: nth(1, 0, stall(20*time.Millisecond))}, kvstore.Config{})
		for range 10 { // no failures of the KV, so the breaker stays closed
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
			start := time.Now()
			if _, err := store.Take(ctx, pair()); err != context.DeadlineExceeded {
				t.Errorf("got %v, want the context's own error", err)
			}
			cancel()
			if got := time.Since(start); got != 30*time.Millisecond {
				t.Errorf("took %v, want 30ms", got)
			}
			time.Sleep(time.Second)
		}
		if got := inner.sum(); got != 0 {
			t.Errorf("left in the KV: %d units, want 0", got)
		}
		if !store.Healthy() {
			t.Error("callers that left opened the breaker")
		}
	})
}

func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down, calls := true, 0
		kv := hooked{KV: newMapKV(time.Now), get: func(context.Context, []string) error {
			calls++
			if down {
				return errDown
			}
			return nil
		}}
		store := newStore(t, kv, kvstore.Config{})
		for range 6 {
			if _, err := store.Take(context.Background(), pair()); !errors.Is(err, errDown) {
				t.Fatalf("got %v, want %v", err, errDown)
			}
			time.Sleep(20 * time.Millisecond)
		}
		before := calls
		_, err := store.Take(context.Background(), pair())
		var unavailable *storekit.UnavailableError
		if !errors.As(err, &unavailable) || unavailable.RetryAfter <= 0 || unavailable.RetryAfter > time.Second {
			t.Errorf("got %v, want an *UnavailableError with the time to the next probe", err)
		}
		if calls != before || store.Healthy() {
			t.Errorf("after 6 failures: %d more calls, healthy %v, want 0 and false", calls-before, store.Healthy())
		}

		down = false
		time.Sleep(time.Second)
		if taken, err := store.Take(context.Background(), pair()); !taken || err != nil || !store.Healthy() {
			t.Errorf("after the KV came back: %v, %v, healthy %v, want true, nil, true", taken, err, store.Healthy())
		}
	})
}

func TestValueThatIsNoCountOpensNoBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := hooked{KV: newMapKV(time.Now), get: func(context.Context, []string) error {
			return fmt.Errorf("key x: %w", kvstore.ErrValue)
		}}
		store := newStore(t, kv, kvstore.Config{})
		for range 20 {
			if _, err := store.Take(context.Background(), pair()); !errors.Is(err, kvstore.ErrValue) {
				t.Fatalf("got %v, want an error that wraps ErrValue", err)
			}
			time.Sleep(20 * time.Millisecond)
		}
		if !store.Healthy() {
			t.Error("a KV that answers is taken to be down")
		}
	})
}

func TestNoBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		kv := hooked{KV: newMapKV(time.Now), get: func(context.Context, []string) error {
			calls++
			return errDown
		}}
		store := newStore(t, kv, kvstore.Config{NoBreaker: true})
		for range 20 {
			store.Take(context.Background(), pair())
			time.Sleep(20 * time.Millisecond)
		}
		if calls != 20 || !store.Healthy() {
			t.Errorf("calls of a KV that is down: got %d, healthy %v, want 20 and true", calls, store.Healthy())
		}
	})
}

// The number of goroutines left behind by a KV that ignores its context is bounded, and later callers do not wait.
func TestStalledKVHoldsABoundedNumber(t *testing.T) {
	const maxCalls = 4096 // of storekit.NewCalls(0)
	synctest.Test(t, func(t *testing.T) {
		var stalled atomic.Int64
		release := make(chan struct{})
		kv := hooked{KV: newMapKV(time.Now), get: func(context.Context, []string) error {
			stalled.Add(1)
			<-release
			return nil
		}}
		store := newStore(t, kv, kvstore.Config{Timeout: time.Millisecond, NoBreaker: true})
		for range 2 * maxCalls {
			if _, err := store.Take(context.Background(), pair()); err == nil {
				t.Fatal("no error from a KV that stalls")
			}
		}
		start := time.Now()
		_, err := store.Take(context.Background(), pair())
		if !errors.Is(err, storekit.ErrBusy) || time.Since(start) != 0 {
			t.Errorf("got %v after %v, want ErrBusy at once", err, time.Since(start))
		}
		if got := stalled.Load(); got != maxCalls {
			t.Errorf("calls running: got %d, want %d", got, maxCalls)
		}
		close(release)
	})
}

// The units of a shadow charge that no longer fits are subtracted. If that fails it may have been carried out, so they
// must not be subtracted again with the rest: they could be the units of others.
func TestSurplusIsNotSubtractedTwice(t *testing.T) {
	clock := newClock()
	inner := newMapKV(clock.Now)
	other := newStore(t, inner, kvstore.Config{Timeout: patient, Now: clock.Now})
	limit := limiter.PerMinute(10)
	additions := 0
	kv := hooked{KV: inner, add: func(context.Context, string, int64) error {
		switch additions++; additions {
		case 1:
			take(t, other, charge(limit, 4))
		case 2:
			return errDown
		}
		return nil
	}}
	store := newStore(t, kv, kvstore.Config{Timeout: patient, Now: clock.Now})
	take(t, other, charge(limit, 5))
	batch := []limiter.Charge{charge(limit, 1), charge(limit, 3)}
	batch[1].Mode = limiter.Shadow
	if _, err := store.Take(context.Background(), batch); !errors.Is(err, errDown) {
		t.Fatalf("got %v, want %v", err, errDown)
	}
	if got := inner.sum(); got != 5+4+3 {
		t.Errorf("left in the KV: %d units, want the 9 of the other and 3 that were not subtracted", got)
	}
}
