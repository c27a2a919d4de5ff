package kvstore_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/kvstore"
	"github.com/httplimit/httplimit/limiter/storekit"
)

// slow makes every call of kv take that long.
func slow(kv kvstore.KV, d time.Duration) hooked {
	return hooked{
		KV:  kv,
		get: func(context.Context, []string) error { time.Sleep(d); return nil },
		add: func(context.Context, string, int64) error { time.Sleep(d); return nil },
	}
}

// together takes n batches at once and returns how many were taken, and the errors of the others.
func together(store limiter.Store, n int, charges func(i int) []limiter.Charge) (taken int64, errs []error) {
	var mu sync.Mutex
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() {
			ok, err := store.Take(context.Background(), charges(i))
			mu.Lock()
			defer mu.Unlock()
			if ok {
				taken++
			}
			if err != nil {
				errs = append(errs, err)
			}
		})
	}
	wait.Wait()
	return taken, errs
}

// A thousand callers of one counter at once cost a few calls, however their batches look, and are all decided.
func TestCallersOfOneCounterShareFlights(t *testing.T) {
	one := func(limit int64) func(int) []limiter.Charge {
		return func(int) []limiter.Charge { return []limiter.Charge{charge(limiter.PerHour(limit), 1)} }
	}
	beside := func(first bool) func(int) []limiter.Charge {
		return func(i int) []limiter.Charge {
			own := limiter.Charge{Key: fmt.Sprint(i), Limit: limiter.PerHour(5), Cost: 1}
			if first {
				return []limiter.Charge{own, charge(limiter.PerHour(5), 1)}
			}
			return []limiter.Charge{charge(limiter.PerHour(5), 1), own}
		}
	}
	for _, tc := range []struct {
		name    string
		charges func(int) []limiter.Charge
		want    int64 // batches taken
		calls   int64 // at most
		units   int64 // in each batch
	}{
		{"a low limit", one(5), 5, 10, 1},
		{"a high limit", one(500), 500, 10, 1},
		{"limit for all", one(1000), 1000, 10, 1},
		{"a counter of its own before", beside(true), 5, 40, 2},
		{"a counter of its own after", beside(false), 5, 40, 2},
	} {
		for _, direct := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, direct %v", tc.name, direct), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					inner := newMapKV(time.Now)
					store := newStore(t, slow(inner, time.Millisecond), kvstore.Config{Direct: direct})
					taken, errs := together(store, 1000, tc.charges)
					if taken != tc.want || len(errs) > 0 {
						t.Errorf("taken %d, %d errors, want %d and none: %v", taken, len(errs), tc.want, errors.Join(errs...))
					}
					if got := inner.gets.Load() + inner.adds.Load(); got > tc.calls {
						t.Errorf("%d calls, want at most %d", got, tc.calls)
					}
					if got := inner.sum(); got != tc.units*taken {
						t.Errorf("%d units in the KV, want %d", got, tc.units*taken)
					}
				})
			})
		}
	}
}

// Batches of one flight are judged in order, each on top of those before it, in every mode.
func TestSharedFlightIsJudgedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := newMapKV(time.Now)
		store := newStore(t, slow(inner, time.Millisecond), kvstore.Config{})
		limit := limiter.Limit{Requests: 10, Window: time.Hour, Algorithm: limiter.FixedWindow}
		type row struct {
			cost      int64
			mode      limiter.Mode
			allowed   bool
			remaining int64
		}
		rows := []row{
			{1, limiter.Enforce, true, 9}, // flies alone; the others wait for it and share the next flight
			{4, limiter.Enforce, true, 5},
			{6, limiter.Enforce, false, 5},
			{3, limiter.Shadow, true, 2},
			{3, limiter.Shadow, false, 2},
			{2, limiter.Peek, true, 2},
			{3, limiter.Peek, false, 2},
			{2, limiter.Enforce, true, 0},
			{-3, limiter.Enforce, true, 3},
			{1, limiter.Enforce, true, 2},
			{5, limiter.Force, true, 0},
			{0, limiter.Enforce, false, 0},
			{-4, limiter.Enforce, true, 1},
		}
		var wait sync.WaitGroup
		for _, want := range rows {
			wait.Go(func() {
				batch := []limiter.Charge{charge(limit, want.cost)}
				batch[0].Mode = want.mode
				if _, err := store.Take(context.Background(), batch); err != nil {
					t.Error(err)
				}
				if got := batch[0]; got.Allowed != want.allowed || got.Remaining != want.remaining {
					t.Errorf("%+v: got allowed %v, remaining %d", want, got.Allowed, got.Remaining)
				}
			})
			synctest.Wait() // it waits in line
		}
		wait.Wait()
		if got := inner.sum(); got != 9 {
			t.Errorf("%d units in the KV, want 9", got)
		}
		if calls := inner.gets.Load() + inner.adds.Load(); calls > 5 {
			t.Errorf("%d calls, want one flight for all but the first", calls)
		}
	})
}

// A caller whose context ends leaves at once, and what the flight has spent for it is given back. The others do not
// notice.
func TestCallerLeavesASharedFlight(t *testing.T) {
	for _, direct := range []bool{false, true} {
		t.Run(fmt.Sprintf("direct %v", direct), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner := newMapKV(time.Now)
				store := newStore(t, slow(inner, 5*time.Millisecond), kvstore.Config{Direct: direct})
				limit := limiter.PerHour(100)
				var wait sync.WaitGroup
				for i := range 50 {
					wait.Go(func() {
						ctx, cancel := context.WithCancel(context.Background())
						defer cancel()
						leaves := i > 0 && i%2 == 0 // the first one flies alone
						if leaves {
							time.AfterFunc(13*time.Millisecond, cancel) // when the shared flight is under way
						}
						start := time.Now()
						taken, err := store.Take(ctx, []limiter.Charge{charge(limit, 1)})
						switch passed := time.Since(start); {
						case leaves && (err != context.Canceled || passed != 13*time.Millisecond):
							t.Errorf("one that leaves: %v, %v after %v", taken, err, passed)
						case !leaves && (!taken || err != nil):
							t.Errorf("one that stays: %v, %v", taken, err)
						}
					})
					synctest.Wait()
				}
				wait.Wait()
				time.Sleep(time.Second)
				if got := inner.sum(); got != 26 {
					t.Errorf("%d units in the KV, want the 26 of those that stayed", got)
				}
			})
		})
	}
}

// A call that never returns holds its own caller's line for a quarter of the time-out, not for the whole.
func TestLateFlightIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := newMapKV(time.Now)
		var calls atomic.Int64
		release := make(chan struct{})
		kv := hooked{KV: inner, get: func(context.Context, []string) error {
			if calls.Add(1) == 1 {
				<-release
			}
			return nil
		}}
		store := newStore(t, kv, kvstore.Config{})
		start := time.Now()
		taken, errs := together(store, 100, func(int) []limiter.Charge {
			return []limiter.Charge{charge(limiter.PerHour(1000), 1)}
		})
		if taken != 99 || len(errs) != 1 || !errors.Is(errs[0], context.DeadlineExceeded) {
			t.Errorf("taken %d, %v; want 99 and the time-out of the first", taken, errs)
		}
		if got := time.Since(start); got != 50*time.Millisecond {
			t.Errorf("took %v, want the 50ms of the first", got)
		}
		close(release)
		time.Sleep(time.Second)
		if got := inner.sum(); got != 99 {
			t.Errorf("%d units in the KV, want 99", got)
		}
	})
}

// Whatever the KV does, every caller of a flight gets an answer, and the next flight is not held.
func TestSharedFlightEndsWithAnError(t *testing.T) {
	for name, fails := range map[string]func() error{
		"an error": fail,
		"a panic":  func() error { panic("nil map") },
		"an exit":  func() error { runtime.Goexit(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner := newMapKV(time.Now)
				var down atomic.Bool
				kv := slow(inner, time.Millisecond)
				kv.add = func(context.Context, string, int64) error {
					time.Sleep(time.Millisecond)
					if down.Load() {
						return fails()
					}
					return nil
				}
				store := newStore(t, kv, kvstore.Config{})
				// Ten counters beside the common one, so that they are added to side by side.
				charges := func(i int) []limiter.Charge {
					own := limiter.Charge{Key: fmt.Sprint(i % 10), Limit: limiter.PerHour(1000), Cost: 1}
					return []limiter.Charge{charge(limiter.PerHour(1000), 1), own}
				}
				down.Store(true)
				start := time.Now()
				if taken, errs := together(store, 100, charges); taken != 0 || len(errs) != 100 {
					t.Errorf("taken %d, %d errors, want 100 errors", taken, len(errs))
				}
				if got := time.Since(start); got >= 50*time.Millisecond {
					t.Errorf("took %v, want less than the time-out", got)
				}
				down.Store(false)
				if taken, errs := together(store, 100, charges); taken != 100 {
					t.Errorf("then: taken %d, %v, want all", taken, errs)
				}
			})
		})
	}
}

// A value that is no count fails those who ask for it, not those who share their flight.
func TestValueThatIsNoCountFailsNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := slow(newMapKV(time.Now), time.Millisecond)
		kv.get = func(_ context.Context, keys []string) error {
			time.Sleep(time.Millisecond)
			for _, key := range keys {
				if strings.Contains(key, "|spoilt|") {
					return kvstore.ErrValue
				}
			}
			return nil
		}
		store := newStore(t, kv, kvstore.Config{Timeout: time.Second})
		taken, errs := together(store, 100, func(i int) []limiter.Charge {
			own := limiter.Charge{Key: fmt.Sprint(i), Limit: limiter.PerHour(5), Cost: 1}
			if i%10 == 0 {
				own.Key = "spoilt"
			}
			return []limiter.Charge{charge(limiter.PerHour(1000), 1), own}
		})
		if taken != 90 || len(errs) != 10 {
			t.Errorf("taken %d, %d errors, want 90 and 10", taken, len(errs))
		}
	})
}

// The number of callers that wait is bounded.
func TestWaitingIsBounded(t *testing.T) {
	const most = 16_384
	synctest.Test(t, func(t *testing.T) {
		inner := newMapKV(time.Now)
		store := newStore(t, slow(inner, time.Millisecond), kvstore.Config{})
		var busy atomic.Int64
		var wait sync.WaitGroup
		for range most + 100 {
			wait.Go(func() {
				if _, err := store.Take(t.Context(), []limiter.Charge{charge(limiter.PerHour(5), 1)}); err != nil {
					if !errors.Is(err, storekit.ErrBusy) {
						t.Error(err)
					}
					busy.Add(1)
				}
			})
		}
		wait.Wait()
		if got := busy.Load(); got != 99 {
			t.Errorf("%d callers found no place, want 99: one flies and %d wait", got, most)
		}
	})
}

// Processes whose flights race on one counter never admit more than the limit, and use it up.
func TestSharedFlightsOfSeveralProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for round := range 20 {
			inner := newMapKV(time.Now)
			kv := distant(inner)
			var taken atomic.Int64
			var wait sync.WaitGroup
			for range 4 {
				store := newStore(t, kv, kvstore.Config{})
				wait.Go(func() {
					n, errs := together(store, 100, func(int) []limiter.Charge {
						return []limiter.Charge{charge(limiter.PerHour(250), 1)}
					})
					taken.Add(n)
					if len(errs) > 0 {
						t.Error(errs[0])
					}
				})
			}
			wait.Wait()
			if got := taken.Load(); got > 250 || got < 150 || inner.sum() != got {
				t.Errorf("round %d: taken %d, in the KV %d, want up to 250 and the same", round, got, inner.sum())
			}
		}
	})
}
