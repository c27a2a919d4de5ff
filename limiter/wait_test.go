package limiter_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/internal/refstore"
)

// waiting returns a Limiter on the clock of the bubble, which starts at a boundary of every window.
func waiting(t *testing.T, limit limiter.Limit) *limiter.Limiter {
	t.Helper()
	l, err := limiter.New(refstore.New(func() int64 { return time.Now().UnixMilli() }), "scope", limit)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestWait(t *testing.T) {
	for _, tc := range []struct {
		limit limiter.Limit
		waits []time.Duration // from the call before, with nothing in between
	}{
		{fixed(2, time.Second), []time.Duration{0, 0, time.Second, 0, time.Second}},
		{limiter.Limit{Requests: 2, Window: time.Second, Algorithm: limiter.SlidingLog},
			[]time.Duration{0, 0, time.Second, 0, time.Second}},
		{limiter.Limit{Requests: 2, Window: time.Second, Algorithm: limiter.TokenBucket},
			[]time.Duration{0, 0, 500 * time.Millisecond, 500 * time.Millisecond}},
		{
			// Thirds of a second do not drift.
			limiter.Limit{Requests: 3, Window: time.Second, Algorithm: limiter.TokenBucket, Burst: 2},
			[]time.Duration{0, 0, 334 * time.Millisecond, 333 * time.Millisecond, 333 * time.Millisecond,
				334 * time.Millisecond},
		},
		{limiter.PerSecond(2), []time.Duration{0, 0, 1001 * time.Millisecond, 500 * time.Millisecond}},
	} {
		t.Run(tc.limit.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := waiting(t, tc.limit)
				for i, want := range tc.waits {
					start := time.Now()
					if err := l.Wait(t.Context(), "key"); err != nil {
						t.Fatalf("Wait %d: %v, want nil", i, err)
					}
					if got := time.Since(start); got != want {
						t.Errorf("Wait %d takes %v, want %v", i, got, want)
					}
				}
			})
		})
	}
}

// The clock of a store is in whole milliseconds. A caller that starts to wait in between must still get in.
func TestWaitFromWithinAMillisecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := waiting(t, fixed(1, time.Second))
		time.Sleep(300*time.Millisecond + 700*time.Microsecond)
		start := time.Now()
		for range 2 {
			if err := l.Wait(t.Context(), "key"); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := time.Since(start), 700*time.Millisecond; got != want {
			t.Errorf("took %v, want %v", got, want)
		}
	})
}

func TestWaitFailsAtOnceIfTheDeadlineIsTooClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := waiting(t, fixed(1, time.Second))
		if err := l.Wait(t.Context(), "key"); err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithTimeout(t.Context(), 999*time.Millisecond)
		defer cancel()
		start := time.Now()
		if err := l.Wait(short, "key"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Wait with a deadline before the next unit: %v, want %v", err, context.DeadlineExceeded)
		}
		if got := time.Since(start); got != 0 {
			t.Errorf("that took %v, want no time", got)
		}
		if short.Err() != nil {
			t.Errorf("the context has ended: %v, want it alive", short.Err())
		}

		enough, cancel := context.WithTimeout(t.Context(), 1001*time.Millisecond)
		defer cancel()
		if err := l.Wait(enough, "key"); err != nil {
			t.Errorf("Wait with time enough: %v, want nil", err)
		}
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := waiting(t, fixed(1, time.Minute))
		if err := l.Wait(t.Context(), "key"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(5*time.Second, cancel)
		start := time.Now()
		if err := l.Wait(ctx, "key"); !errors.Is(err, context.Canceled) {
			t.Errorf("Wait with a canceled context: %v, want %v", err, context.Canceled)
		}
		if got, want := time.Since(start), 5*time.Second; got != want {
			t.Errorf("it returned after %v, want %v", got, want)
		}
		if err := l.Wait(ctx, "another key"); !errors.Is(err, context.Canceled) {
			t.Errorf("Wait with a context that has ended: %v, want %v", err, context.Canceled)
		}
		if d, err := l.Peek(t.Context(), "another key"); err != nil || d.Remaining != 1 {
			t.Errorf("after that: %+v, %v, want 1 remaining", d, err)
		}
	})
}

func TestWaitersShareTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := waiting(t, fixed(3, time.Second))
		start := time.Now()
		var wait sync.WaitGroup
		for range 10 {
			wait.Go(func() {
				if err := l.Wait(t.Context(), "key"); err != nil {
					t.Errorf("Wait: %v, want nil", err)
				}
			})
		}
		wait.Wait()
		if got, want := time.Since(start), 3*time.Second; got != want {
			t.Errorf("10 waiters with 3 a second are through after %v, want %v", got, want)
		}
	})
}
