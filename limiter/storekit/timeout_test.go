package storekit_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/internal/refstore"
	"github.com/httplimit/httplimit/limiter/limitertest"
	"github.com/httplimit/httplimit/limiter/memstore"
	"github.com/httplimit/httplimit/limiter/storekit"
)

// patient is a time-out that no slow test machine exceeds.
const patient = time.Minute

// insistent asks again while too many calls are outstanding, which is no refusal: callers that leave at once, and come
// back at once, as in one case of the suite, get there on a busy machine.
type insistent struct{ limiter.Store }

func (s insistent) Take(ctx context.Context, charges []limiter.Charge) (bool, error) {
	for {
		taken, err := s.Store.Take(ctx, charges)
		if !errors.Is(err, storekit.ErrBusy) {
			return taken, err
		}
		runtime.Gosched()
	}
}

func TestTimedStoreConforms(t *testing.T) {
	t.Run("over memory", func(t *testing.T) {
		limitertest.Run(t, func(t *testing.T) limitertest.Harness {
			store, err := memstore.New(memstore.Config{})
			if err != nil {
				t.Fatal(err)
			}
			return limitertest.Harness{Store: insistent{storekit.WithTimeout(store, patient)}}
		})
	})
	t.Run("over a store whose clock moves", func(t *testing.T) {
		limitertest.Run(t, func(*testing.T) limitertest.Harness {
			var now atomic.Int64
			now.Store(time.Date(2026, 11, 20, 10, 0, 0, 123e6, time.UTC).UnixMilli())
			return limitertest.Harness{
				Store:   insistent{storekit.WithTimeout(refstore.New(now.Load), patient)},
				Advance: func(d time.Duration) { now.Add(d.Milliseconds()) },
			}
		})
	})
}

// custom is a store as a user may write it.
type custom struct {
	do func(ctx context.Context, charges []limiter.Charge) (bool, error)
}

func (c custom) Take(ctx context.Context, charges []limiter.Charge) (bool, error) {
	return c.do(ctx, charges)
}

func (c custom) Reset(ctx context.Context, charges []limiter.Charge) error {
	_, err := c.do(ctx, charges)
	return err
}

// both runs f with Take and with Reset of the wrapped store.
func both(do func(context.Context, []limiter.Charge) (bool, error), f func(call func(context.Context) error)) {
	store := storekit.WithTimeout(custom{do}, timeout)
	f(func(ctx context.Context) error {
		taken, err := store.Take(ctx, []limiter.Charge{{Key: "key", Cost: 1}})
		if taken != (err == nil) {
			return errors.New("taken beside an error, or not taken without one")
		}
		return err
	})
	f(func(ctx context.Context) error { return store.Reset(ctx, []limiter.Charge{{Key: "key"}}) })
}

func TestTimedStoreReturnsInTime(t *testing.T) {
	type asked = func(context.Context, []limiter.Charge) (bool, error)
	for _, tc := range []struct {
		name  string
		ctx   func() (context.Context, context.CancelFunc)
		store asked
		want  error
		took  time.Duration
	}{
		{"in time", forever, func(context.Context, []limiter.Charge) (bool, error) {
			time.Sleep(timeout - 1)
			return true, nil
		}, nil, timeout - 1},
		{"with an error", forever, func(context.Context, []limiter.Charge) (bool, error) {
			return true, errDown
		}, errDown, 0},
		{"late", forever, func(context.Context, []limiter.Charge) (bool, error) {
			time.Sleep(time.Hour)
			return true, nil
		}, context.DeadlineExceeded, timeout},
		{"heeding its context", forever, func(ctx context.Context, _ []limiter.Charge) (bool, error) {
			return true, untilDone(ctx)
		}, context.DeadlineExceeded, timeout},
		{"after its caller has left", half, func(context.Context, []limiter.Charge) (bool, error) {
			time.Sleep(time.Hour)
			return true, nil
		}, context.Canceled, timeout / 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			// A goroutine that is left when the store's calls have returned would be a deadlock at the end of the bubble.
			synctest.Test(t, func(t *testing.T) {
				both(tc.store, func(call func(context.Context) error) {
					ctx, cancel := tc.ctx()
					defer cancel()
					start := time.Now()
					if err := call(ctx); !errors.Is(err, tc.want) {
						t.Errorf("got %v, want %v", err, tc.want)
					}
					if got := time.Since(start); got != tc.took {
						t.Errorf("took %v, want %v", got, tc.took)
					}
				})
				time.Sleep(2 * time.Hour) // lets late calls return
			})
		})
	}
}

func forever() (context.Context, context.CancelFunc) { return context.Background(), func() {} }

// half is a caller who leaves after half of the time.
func half() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(timeout/2, cancel)
	return ctx, cancel
}

func TestTimedStoreSurvives(t *testing.T) {
	for _, tc := range []struct {
		name string
		do   func()
		want string
	}{
		{"a panic", func() { panic("no row of alice@example.com") }, "panicked: a string"},
		{"a nil pointer", func() { var c *limiter.Charge; c.Cost++ }, "nil pointer"},
		{"an exit", runtime.Goexit, "ended its goroutine"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			both(func(context.Context, []limiter.Charge) (bool, error) { tc.do(); return true, nil },
				func(call func(context.Context) error) {
					for range 300 { // more than may be outstanding, so that it would count those that have ended
						err := call(context.Background())
						if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "alice") {
							t.Fatalf("got %v, want an error that says %q, and no key", err, tc.want)
						}
					}
				})
		})
	}
}

func TestTimedStoreBoundsWhatIsOutstanding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 256
		stalled := make(chan struct{})
		var begun atomic.Int64
		store := storekit.WithTimeout(custom{func(context.Context, []limiter.Charge) (bool, error) {
			begun.Add(1)
			<-stalled
			return true, nil
		}}, timeout)
		var callers sync.WaitGroup
		for range most {
			callers.Go(func() {
				if _, err := store.Take(context.Background(), nil); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("a call that stalls: got %v, want %v", err, context.DeadlineExceeded)
				}
			})
		}
		callers.Wait()
		start := time.Now()
		_, err := store.Take(context.Background(), nil)
		var unavailable *storekit.UnavailableError
		if !errors.Is(err, storekit.ErrBusy) || !errors.As(err, &unavailable) {
			t.Errorf("one more call: got %v, want an *UnavailableError that wraps ErrBusy", err)
		}
		if err := store.Reset(context.Background(), nil); !errors.Is(err, storekit.ErrBusy) {
			t.Errorf("Reset: got %v, want ErrBusy", err)
		}
		if got := time.Since(start); got != 0 || begun.Load() != most {
			t.Errorf("waited %v, and %d calls were begun, want 0 and %d", got, begun.Load(), most)
		}
		close(stalled)
		synctest.Wait()
		if taken, err := store.Take(context.Background(), nil); !taken || err != nil {
			t.Errorf("after they have returned: got %t, %v, want true, nil", taken, err)
		}
	})
}

// A call that is late goes on with charges and strings of its own (run with -race): the caller uses its own for
// something else by then.
func TestTimedStoreSharesNoMemoryWithALateCall(t *testing.T) {
	goOn, seen := make(chan struct{}), make(chan string)
	store := storekit.WithTimeout(custom{func(_ context.Context, charges []limiter.Charge) (bool, error) {
		<-goOn
		charges[0].Decision = limiter.Decision{Allowed: true, Remaining: 99}
		charges[0].At, charges[0].Cached = 5, true
		seen <- charges[0].Scope + " " + charges[0].Key
		return true, nil
	}}, time.Millisecond)
	memory := []byte("login" + "alice")
	text := unsafe.String(unsafe.SliceData(memory), len(memory))
	charges := []limiter.Charge{{Scope: text[:5], Key: text[5:], Limit: limiter.PerMinute(5), Cost: 1}}
	for name, call := range map[string]func() error{
		"Take":  func() error { _, err := store.Take(t.Context(), charges); return err },
		"Reset": func() error { return store.Reset(t.Context(), charges) },
	} {
		copy(memory, "login"+"alice")
		before := charges[0]
		if err := call(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: got %v, want %v", name, err, context.DeadlineExceeded)
		}
		copy(memory, "xxxxx"+"yyyyy")
		charges[0].Remaining = 7
		goOn <- struct{}{}
		if got, want := <-seen, "login alice"; got != want {
			t.Errorf("%s: the late call saw %q, want %q", name, got, want)
		}
		charges[0].Remaining = 0
		if charges[0] != before {
			t.Errorf("%s: got %+v, want the charge as it was, %+v", name, charges[0], before)
		}
	}
}

// answered has all that a store may have.
type answered struct {
	limiter.Checker
	limiter.StatsReporter
}

func (answered) Check(limiter.Limit) error { return limiter.ErrUnsupported }
func (answered) Stats() limiter.StoreStats { return limiter.StoreStats{Entries: 7} }

func TestTimedStoreIsWhatItsStoreIs(t *testing.T) {
	var all answered
	for name, store := range map[string]limiter.Store{
		"neither": custom{},
		"a checker": struct {
			custom
			limiter.Checker
		}{Checker: all},
		"a reporter": struct {
			custom
			limiter.StatsReporter
		}{StatsReporter: all},
		"both": struct {
			custom
			answered
		}{},
	} {
		t.Run(name, func(t *testing.T) {
			got := storekit.WithTimeout(store, timeout)
			_, checks := store.(limiter.Checker)
			if c, ok := got.(limiter.Checker); ok != checks || ok && c.Check(limiter.PerMinute(5)) != limiter.ErrUnsupported {
				t.Errorf("a Checker: got %t, want %t, with its store's answer", ok, checks)
			}
			_, reports := store.(limiter.StatsReporter)
			if r, ok := got.(limiter.StatsReporter); ok != reports || ok && r.Stats().Entries != 7 {
				t.Errorf("a StatsReporter: got %t, want %t, with its store's answer", ok, reports)
			}
			if inner, ok := got.(interface{ Unwrap() limiter.Store }); !ok {
				t.Error("it has no Unwrap")
			} else if _, ok := inner.Unwrap().(limiter.Checker); ok != checks {
				t.Errorf("Unwrap: got a %T, want the store itself", inner.Unwrap())
			}
		})
	}
}

// stuck is a store whose server does not answer.
type stuck struct{}

func (stuck) Take(context.Context, []limiter.Charge) (bool, error) { select {} }
func (stuck) Reset(context.Context, []limiter.Charge) error        { select {} }

// A store of your own that may not return is wrapped: the middleware then applies each rule's policy in time.
func ExampleWithTimeout() {
	store := storekit.WithTimeout(stuck{}, 20*time.Millisecond)
	l, err := limiter.New(store, "mail", limiter.PerMinute(5))
	if err != nil {
		log.Fatal(err)
	}
	_, err = l.Allow(context.Background(), "alice")
	fmt.Println(err)
	// Output: storekit: no answer within 20ms: context deadline exceeded
}
