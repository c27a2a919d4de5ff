package storekit_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/httplimit/httplimit/limiter/storekit"
)

var errDown = errors.New("server down")

// untilDone is a call that returns when its context ends.
func untilDone(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestCallsEnd(t *testing.T) {
	alive := context.Background()
	ended, end := context.WithCancel(alive)
	end()
	for _, tc := range []struct {
		name string
		ctx  context.Context
		call func(context.Context) error
		want error
	}{
		{"returns in time", alive, func(context.Context) error { time.Sleep(timeout - 1); return nil }, nil},
		{"fails in time", alive, func(context.Context) error { return errDown }, errDown},
		{"is too slow", alive, func(context.Context) error { time.Sleep(time.Hour); return nil }, context.DeadlineExceeded},
		{"obeys its context", alive, untilDone, context.DeadlineExceeded},
		{"context ended before", ended, func(context.Context) error { t.Error("called"); return nil }, context.Canceled},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				err := storekit.NewCalls(0).Run(tc.ctx, timeout, tc.call)
				if !errors.Is(err, tc.want) {
					t.Errorf("got %v, want %v", err, tc.want)
				}
				if got := time.Since(start); got > timeout {
					t.Errorf("took %v, want at most %v", got, timeout)
				}
				time.Sleep(time.Hour) // lets the slow call end
			})
		})
	}
}

func TestCallsReturnTheCallersOwnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), timeout/2)
		defer cancel()
		err := storekit.NewCalls(0).Run(ctx, timeout, func(context.Context) error { time.Sleep(time.Second); return nil })
		if err != context.DeadlineExceeded {
			t.Errorf("got %v, want the caller's own context.DeadlineExceeded", err)
		}
		time.Sleep(time.Second) // lets the slow call end
	})
}

func TestCallsOutliveTheirCallersContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type name struct{}
		ctx, cancel := context.WithCancel(context.WithValue(context.Background(), name{}, "value"))
		time.AfterFunc(timeout/2, cancel)
		took := make(chan time.Duration, 1)
		start := time.Now()
		err := storekit.NewCalls(0).Run(ctx, timeout, func(ctx context.Context) error {
			if got := ctx.Value(name{}); got != "value" {
				t.Errorf("the call's context: got %v, want the caller's value", got)
			}
			<-ctx.Done()
			took <- time.Since(start)
			return nil
		})
		if err != context.Canceled {
			t.Errorf("got %v, want context.Canceled", err)
		}
		if got := <-took; got != timeout {
			t.Errorf("the call's context ended after %v, want %v", got, timeout)
		}
	})
}

func TestCallsSurvive(t *testing.T) {
	for _, tc := range []struct {
		name string
		call func(context.Context) error
		want string
	}{
		{"a panic", func(context.Context) error { panic("no such server") }, "panicked: a string"},
		{"an exit", func(context.Context) error { runtime.Goexit(); return nil }, "ended its goroutine"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			calls := storekit.NewCalls(1)
			for range 3 { // more than one, so that it would count those that have ended
				err := calls.Run(context.Background(), time.Minute, tc.call)
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("got %v, want an error that says %q", err, tc.want)
				}
			}
		})
	}
}

func TestCallsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := storekit.NewCalls(2)
		stalled := make(chan struct{})
		for range 2 {
			err := calls.Run(context.Background(), timeout, func(context.Context) error { <-stalled; return nil })
			if err == nil {
				t.Fatal("no error from a stalled call")
			}
		}
		start := time.Now()
		err := calls.Run(context.Background(), timeout, func(context.Context) error {
			t.Error("a third call was made")
			return nil
		})
		var unavailable *storekit.UnavailableError
		if !errors.Is(err, storekit.ErrBusy) || !errors.As(err, &unavailable) {
			t.Errorf("got %v, want an *UnavailableError that wraps ErrBusy", err)
		}
		if got := time.Since(start); got != 0 {
			t.Errorf("waited %v behind stalled calls, want 0", got)
		}
		close(stalled)
		synctest.Wait()
		if err := calls.Run(context.Background(), timeout, func(context.Context) error { return nil }); err != nil {
			t.Errorf("after the server came back: %v", err)
		}
	})
}

func TestCallsRunDirectly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := storekit.NewCalls(1)
		run := func(call func(context.Context) error) error {
			return calls.RunDirect(context.Background(), timeout, call)
		}
		if err := run(func(context.Context) error { return errDown }); err != errDown {
			t.Errorf("a call that fails: got %v, want %v", err, errDown)
		}
		err := run(func(context.Context) error { panic("no such server") })
		if err == nil || !strings.Contains(err.Error(), "panicked: a string") {
			t.Errorf("a call that panics: got %v, want an error that says so", err)
		}
		start := time.Now()
		err = run(func(ctx context.Context) error {
			if err := run(func(context.Context) error { return nil }); !errors.Is(err, storekit.ErrBusy) {
				t.Errorf("a second call of one: got %v, want ErrBusy", err)
			}
			return untilDone(ctx)
		})
		if got := time.Since(start); err != context.DeadlineExceeded || got != timeout {
			t.Errorf("a call that obeys its context: got %v after %v, want %v after %v",
				err, got, context.DeadlineExceeded, timeout)
		}
		ended, end := context.WithCancel(context.Background())
		end()
		if err := calls.RunDirect(ended, timeout, func(context.Context) error { return nil }); err != context.Canceled {
			t.Errorf("an ended context: got %v, want context.Canceled", err)
		}
	})
}
