package limiter_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
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
		{limiter.Limit{Requests: 2, Window: time.Second, Algorithm: limiter.StrictWindow},
			[]time.Duration{0, 0, 1100 * time.Millisecond, 0, 1100 * time.Millisecond}},
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
		err := l.Wait(short, "key")
		if !errors.Is(err, limiter.ErrWaitTooLong) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Wait with a deadline before the next unit: %v, want %v and no time-out", err, limiter.ErrWaitTooLong)
		}
		if !strings.Contains(err.Error(), " 1s") {
			t.Errorf("the error %q, want it to say how long the wait is: 1s", err)
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

// spy counts the calls of a store, which take some time.
type spy struct {
	limiter.Store
	takes   atomic.Int64
	latency time.Duration
	err     error       // instead of an answer
	panics  atomic.Bool // at the next call
}

func (s *spy) Take(ctx context.Context, charges []limiter.Charge) (bool, error) {
	s.takes.Add(1)
	time.Sleep(s.latency)
	if s.panics.Swap(false) {
		panic("store")
	}
	if s.err != nil {
		return false, s.err
	}
	return s.Store.Take(ctx, charges)
}

// spied returns a Limiter over a spy in the bubble of a test.
func spied(t *testing.T, latency time.Duration, limit limiter.Limit) (*limiter.Limiter, *spy) {
	t.Helper()
	s := &spy{Store: refstore.New(func() int64 { return time.Now().UnixMilli() }), latency: latency}
	l, err := limiter.New(s, "scope", limit)
	if err != nil {
		t.Fatal(err)
	}
	return l, s
}

// However many wait, a unit costs two calls at most, and who comes first is served first.
func TestWaitersAskRarely(t *testing.T) {
	const waiters = 24
	second := func(n int64, a limiter.Algorithm) limiter.Limit {
		return limiter.Limit{Requests: n, Window: time.Second, Algorithm: a}
	}
	for _, algorithm := range []limiter.Algorithm{
		limiter.SlidingWindow, limiter.SlidingLog, limiter.FixedWindow, limiter.TokenBucket, limiter.StrictWindow,
	} {
		for _, requests := range []int64{1, 3, 10} {
			for _, latency := range []time.Duration{0, 2 * time.Millisecond} {
				limit := second(requests, algorithm)
				t.Run(fmt.Sprintf("%v, an answer takes %v", limit, latency), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						l, store := spied(t, latency, limit)
						var wait sync.WaitGroup
						var mu sync.Mutex
						var order []int
						for i := range waiters {
							wait.Go(func() {
								if err := l.Wait(t.Context(), "key"); err != nil {
									t.Errorf("Wait: %v, want nil", err)
								}
								mu.Lock()
								order = append(order, i)
								mu.Unlock()
							})
							synctest.Wait()
						}
						wait.Wait()
						if got := store.takes.Load(); got > 2*waiters {
							t.Errorf("%d calls for %d units, want at most %d", got, waiters, 2*waiters)
						}
						// Those for whom there were units at the same moment ask together, and return in any order.
						for at, i := range order {
							if off := at - i; off >= int(requests) || -off >= int(requests) {
								t.Errorf("served in the order %v, want that of arrival", order)
								break
							}
						}
					})
				})
			}
		}
	}
}

// While there are units, those who wait do not wait for each other.
func TestWaitersAskSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := spied(t, 10*time.Millisecond, fixed(1000, time.Hour))
		start := time.Now()
		var wait sync.WaitGroup
		for range 100 {
			wait.Go(func() {
				if err := l.Wait(t.Context(), "key"); err != nil {
					t.Errorf("Wait: %v, want nil", err)
				}
			})
		}
		wait.Wait()
		if got, want := time.Since(start), 20*time.Millisecond; got != want {
			t.Errorf("took %v, want %v: the first answer tells that there are units for all", got, want)
		}
	})
}

func TestWaitNever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, store := spied(t, 0, limiter.PerSecond(1))
		store.Store = never{}
		if err := l.Wait(t.Context(), "key"); !errors.Is(err, limiter.ErrWaitTooLong) {
			t.Errorf("got %v, want %v", err, limiter.ErrWaitTooLong)
		}
	})
}

// never refuses for ever.
type never struct{ limiter.Store }

func (never) Take(_ context.Context, charges []limiter.Charge) (bool, error) {
	charges[0].Decision = limiter.Decision{RetryAfter: limiter.Never}
	return false, nil
}

// A store that does not answer in time is no wait that would be too long.
func TestWaitReturnsTheErrorOfTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, store := spied(t, 0, limiter.PerSecond(1))
		store.err = fmt.Errorf("store: no answer within 50ms: %w", context.DeadlineExceeded)
		err := l.Wait(t.Context(), "key")
		if err != store.err || errors.Is(err, limiter.ErrWaitTooLong) {
			t.Errorf("got %v, want %v", err, store.err)
		}
		store.err = nil
		if err := l.Wait(t.Context(), "key"); err != nil {
			t.Errorf("then: %v, want nil", err)
		}
	})
}

// Whoever leaves a line, however, the next one takes its place.
func TestWaitersLeaveTheLine(t *testing.T) {
	for _, tc := range []struct {
		name   string
		leaves int // which of the three that wait
	}{
		{"the first", 0}, {"one in the middle", 1}, {"the last", 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, _ := spied(t, 0, fixed(1, time.Second))
				if err := l.Wait(t.Context(), "key"); err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				var wait sync.WaitGroup
				for i := range 3 {
					wait.Go(func() {
						ctx, cancel := context.WithCancel(t.Context())
						defer cancel()
						if i == tc.leaves {
							time.AfterFunc(500*time.Millisecond, cancel)
						}
						err := l.Wait(ctx, "key")
						if i == tc.leaves && err != context.Canceled || i != tc.leaves && err != nil {
							t.Errorf("waiter %d: %v", i, err)
						}
					})
					synctest.Wait()
				}
				wait.Wait()
				if got, want := time.Since(start), 2*time.Second; got != want {
					t.Errorf("the other two are through after %v, want %v", got, want)
				}
			})
		})
	}
}

func TestWaitersSurviveAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, store := spied(t, time.Millisecond, fixed(1, time.Second))
		store.panics.Store(true)
		var wait sync.WaitGroup
		for i := range 3 {
			wait.Go(func() {
				defer func() {
					if p := recover(); (p != nil) != (i == 0) {
						t.Errorf("waiter %d: panic %v", i, p)
					}
				}()
				l.Wait(t.Context(), "key")
			})
			synctest.Wait()
		}
		wait.Wait()
	})
}

// Whose deadline is too soon fails without waiting and without a call, also behind others.
func TestWaitFailsAtOnceBehindOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, store := spied(t, 0, fixed(1, time.Second))
		if err := l.Wait(t.Context(), "key"); err != nil {
			t.Fatal(err)
		}
		var wait sync.WaitGroup
		wait.Go(func() {
			if err := l.Wait(t.Context(), "key"); err != nil {
				t.Errorf("the first in line: %v", err)
			}
		})
		synctest.Wait()
		before := store.takes.Load()
		ctx, cancel := context.WithTimeout(t.Context(), 900*time.Millisecond)
		defer cancel()
		start := time.Now()
		if err := l.Wait(ctx, "key"); !errors.Is(err, limiter.ErrWaitTooLong) || time.Since(start) != 0 {
			t.Errorf("got %v after %v, want %v at once", err, time.Since(start), limiter.ErrWaitTooLong)
		}
		if got := store.takes.Load() - before; got != 0 {
			t.Errorf("%d calls, want 0", got)
		}
		wait.Wait()
	})
}

// Units that are given back through the same Limiter reach those who wait.
func TestWaitersNoticeARefund(t *testing.T) {
	for name, free := range map[string]func(*limiter.Limiter) error{
		"refund": func(l *limiter.Limiter) error { return l.Refund(context.Background(), "key", 1) },
		"reset":  func(l *limiter.Limiter) error { return l.Reset(context.Background(), "key") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, _ := spied(t, 0, fixed(1, time.Hour))
				if err := l.Wait(t.Context(), "key"); err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				var wait sync.WaitGroup
				wait.Go(func() {
					if err := l.Wait(t.Context(), "key"); err != nil {
						t.Error(err)
					}
				})
				synctest.Wait()
				time.Sleep(time.Second)
				if err := free(l); err != nil {
					t.Fatal(err)
				}
				wait.Wait()
				if got := time.Since(start); got != time.Second {
					t.Errorf("took %v, want %v", got, time.Second)
				}
			})
		})
	}
}
