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

func TestTripsEnd(t *testing.T) {
	ended, end := context.WithCancel(context.Background())
	end()
	for _, tc := range []struct {
		name string
		ctx  context.Context
		trip func(context.Context) error
		want error
	}{
		{"returns in time", context.Background(), func(context.Context) error { time.Sleep(timeout - 1); return nil }, nil},
		{"fails in time", context.Background(), func(context.Context) error { return errDown }, errDown},
		{"is too slow", context.Background(), func(context.Context) error { time.Sleep(time.Hour); return nil }, context.DeadlineExceeded},
		{"heeds its context", context.Background(), func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, context.DeadlineExceeded},
		{"context ended before", ended, func(context.Context) error { t.Error("the trip was made"); return nil }, context.Canceled},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				err := storekit.NewTrips(0).Run(tc.ctx, timeout, tc.trip)
				if !errors.Is(err, tc.want) {
					t.Errorf("got %v, want %v", err, tc.want)
				}
				if got := time.Since(start); got > timeout {
					t.Errorf("took %v, want at most %v", got, timeout)
				}
				time.Sleep(time.Hour) // lets the slow trip end
			})
		})
	}
}

func TestTripsReturnTheCallersOwnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), timeout/2)
		defer cancel()
		err := storekit.NewTrips(0).Run(ctx, timeout, func(context.Context) error { time.Sleep(time.Second); return nil })
		if err != context.DeadlineExceeded {
			t.Errorf("got %v, want the caller's own context.DeadlineExceeded", err)
		}
		time.Sleep(time.Second) // lets the slow trip end
	})
}

func TestTripsOutliveTheirCallersContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type name struct{}
		ctx, cancel := context.WithCancel(context.WithValue(context.Background(), name{}, "value"))
		time.AfterFunc(timeout/2, cancel)
		took := make(chan time.Duration, 1)
		start := time.Now()
		err := storekit.NewTrips(0).Run(ctx, timeout, func(ctx context.Context) error {
			if got := ctx.Value(name{}); got != "value" {
				t.Errorf("the trip's context: got %v, want the caller's value", got)
			}
			<-ctx.Done()
			took <- time.Since(start)
			return nil
		})
		if err != context.Canceled {
			t.Errorf("got %v, want context.Canceled", err)
		}
		if got := <-took; got != timeout {
			t.Errorf("the trip's context ended after %v, want %v", got, timeout)
		}
	})
}

func TestTripsSurvive(t *testing.T) {
	for _, tc := range []struct {
		name string
		trip func(context.Context) error
		want string
	}{
		{"a panic", func(context.Context) error { panic("no such server") }, "no such server"},
		{"an exit", func(context.Context) error { runtime.Goexit(); return nil }, "ended its goroutine"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			trips := storekit.NewTrips(1)
			for range 3 { // more than one, so that the place is given back
				err := trips.Run(context.Background(), time.Minute, tc.trip)
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("got %v, want an error that says %q", err, tc.want)
				}
			}
		})
	}
}

func TestTripsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		trips := storekit.NewTrips(2)
		stalled := make(chan struct{})
		for range 2 {
			if err := trips.Run(context.Background(), timeout, func(context.Context) error { <-stalled; return nil }); err == nil {
				t.Fatal("no error from a stalled trip")
			}
		}
		start := time.Now()
		err := trips.Run(context.Background(), timeout, func(context.Context) error { t.Error("a third trip was made"); return nil })
		var unavailable *storekit.UnavailableError
		if !errors.Is(err, storekit.ErrBusy) || !errors.As(err, &unavailable) {
			t.Errorf("got %v, want an *UnavailableError that wraps ErrBusy", err)
		}
		if got := time.Since(start); got != 0 {
			t.Errorf("waited %v behind stalled trips, want 0", got)
		}
		close(stalled)
		synctest.Wait()
		if err := trips.Run(context.Background(), timeout, func(context.Context) error { return nil }); err != nil {
			t.Errorf("after the server came back: %v", err)
		}
	})
}

func TestTripsRunDirectly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		trips := storekit.NewTrips(1)
		run := func(trip func(context.Context) error) error {
			return trips.RunDirect(context.Background(), timeout, trip)
		}
		if err := run(func(context.Context) error { return errDown }); err != errDown {
			t.Errorf("a trip that fails: got %v, want %v", err, errDown)
		}
		if err := run(func(context.Context) error { panic("no such server") }); err == nil || !strings.Contains(err.Error(), "no such server") {
			t.Errorf("a trip that panics: got %v, want an error that says so", err)
		}
		start := time.Now()
		err := run(func(ctx context.Context) error {
			if err := run(func(context.Context) error { return nil }); !errors.Is(err, storekit.ErrBusy) {
				t.Errorf("a second trip of one: got %v, want ErrBusy", err)
			}
			<-ctx.Done()
			return ctx.Err()
		})
		if err != context.DeadlineExceeded || time.Since(start) != timeout {
			t.Errorf("a trip that heeds its context: got %v after %v, want context.DeadlineExceeded after %v", err, time.Since(start), timeout)
		}
		ended, end := context.WithCancel(context.Background())
		end()
		if err := trips.RunDirect(ended, timeout, func(context.Context) error { return nil }); err != context.Canceled {
			t.Errorf("an ended context: got %v, want context.Canceled", err)
		}
	})
}
