package storekit

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// DefaultTrips is how many trips [NewTrips] of 0 lets be under way: more than a burst leaves waiting for a healthy
// server, and with some 10 KB of stack and buffers each, 40 MB, no danger to the process when the server stalls.
const DefaultTrips = 4096

var errExited = errors.New("storekit: the trip ended its goroutine")

// Trips runs calls to a server through a client that may ignore its context. It is safe for concurrent use.
type Trips struct {
	most     int64
	underWay atomic.Int64
}

// NewTrips returns a runner of at most that many trips at once; 0 means [DefaultTrips]. Trips whose callers have
// left count until they return, so this bounds the goroutines that a stalled server can hold.
func NewTrips(most int) *Trips {
	if most <= 0 {
		most = DefaultTrips
	}
	return &Trips{most: int64(most)}
}

// Run calls trip in a goroutine of its own and waits for it, for timeout and for ctx, whichever is first. The
// trip's context has ctx's values and ends with the timeout, not with ctx: a trip that has begun is better finished
// than broken off with an unknown outcome. The error is what trip returned, or
//
//   - ctx's own error if ctx ended first,
//   - one that wraps [context.DeadlineExceeded] if the time was over,
//   - an [*UnavailableError] that wraps [ErrBusy] if too many trips are under way, and then trip was not called,
//   - what trip panicked with.
//
// When ctx or the time ended, trip may still be running: it must touch nothing then that belongs to the caller.
func (t *Trips) Run(ctx context.Context, timeout time.Duration, trip func(context.Context) error) error {
	if err := t.begin(ctx); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	done := make(chan error, 1)
	go func() {
		defer cancel()
		err := errExited
		// Before its context ends, or the caller could take a trip that returned for one that did not.
		defer func() { done <- err }()
		err = t.call(limited, trip)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	case <-limited.Done():
	}
	select {
	case err := <-done: // a trip that has returned counts, also where it is not the only one to be ready
		return err
	default:
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return fmt.Errorf("storekit: no answer within %v: %w", timeout, context.DeadlineExceeded)
}

// RunDirect is [Trips.Run] in the caller's goroutine. It saves the handing over and back, some 3 µs where processors
// are idle, and is for trips that return when their context ends: nothing else ends them.
func (t *Trips) RunDirect(ctx context.Context, timeout time.Duration, trip func(context.Context) error) error {
	if err := t.begin(ctx); err != nil {
		return err
	}
	limited := &deadline{Context: ctx, at: time.Now().Add(timeout)}
	defer limited.end(context.Canceled)
	return t.call(limited, trip)
}

// begin counts a trip. Without an error, call must follow.
func (t *Trips) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if t.underWay.Add(1) > t.most {
		t.underWay.Add(-1)
		return &UnavailableError{Err: ErrBusy}
	}
	return nil
}

// call turns a panic into an error: in a goroutine that nobody else owns it would end the process.
func (t *Trips) call(ctx context.Context, trip func(context.Context) error) (err error) {
	defer t.underWay.Add(-1)
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("storekit: the trip panicked: %v", p)
		}
	}()
	return trip(ctx)
}
