package storekit

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// defaultCalls is more than a burst leaves waiting for a healthy server, and with some 10 KB of stack and buffers
// each, 40 MB, no danger to the process when the server stalls.
const defaultCalls = 4096

var errExited = errors.New("storekit: the call ended its goroutine")

// Calls runs calls to a server through a client library that may ignore its context. Make one with [NewCalls]; it is
// safe for concurrent use.
type Calls struct {
	limit   int64
	running atomic.Int64
}

// NewCalls returns a runner of at most that many calls at once; 0 means 4,096. A call whose caller has stopped
// waiting counts until it returns, so this bounds the goroutines that a stalled server can hold.
func NewCalls(limit int) *Calls {
	if limit <= 0 {
		limit = defaultCalls
	}
	return &Calls{limit: int64(limit)}
}

// Run runs call in a goroutine of its own and waits for it, for timeout and for ctx, whichever ends first. The
// context of the call has the values of ctx and ends with the timeout, not with ctx: a call that has begun is better
// finished than broken off with an unknown outcome. The error is the one that call returned, or
//
//   - ctx's own error if ctx ended first,
//   - one that wraps [context.DeadlineExceeded] if the time was over,
//   - an [*UnavailableError] that wraps [ErrBusy] if too many calls are running, and then this one was not begun,
//   - one for a panic of call, which names the type of its value only, since that may hold a key; the text of a fault
//     that the runtime found is in it.
//
// When ctx or the time ended, call may still be running: it must touch nothing then that belongs to the caller.
func (c *Calls) Run(ctx context.Context, timeout time.Duration, call func(context.Context) error) error {
	if err := c.begin(ctx); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	done := make(chan error, 1)
	go func() {
		defer cancel()
		err := errExited
		// Before the context ends, or the caller could take a call that returned for one that did not.
		defer func() { done <- err }()
		err = c.finish(limited, call)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	case <-limited.Done():
	}
	select {
	case err := <-done: // a result counts, also if the time was over at the same moment
		return err
	default:
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return fmt.Errorf("storekit: no answer within %v: %w", timeout, context.DeadlineExceeded)
}

// RunDirect is [Calls.Run] in the caller's goroutine. It saves the handing over and back, some 3 µs where processors
// are idle, and is for calls that return when their context ends: nothing else ends them.
func (c *Calls) RunDirect(ctx context.Context, timeout time.Duration, call func(context.Context) error) error {
	if err := c.begin(ctx); err != nil {
		return err
	}
	limited := &deadline{Context: ctx, at: time.Now().Add(timeout)}
	defer limited.end(context.Canceled)
	return c.finish(limited, call)
}

// begin counts a call. Without an error, finish must follow.
func (c *Calls) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.running.Add(1) > c.limit {
		c.running.Add(-1)
		return &UnavailableError{Err: ErrBusy}
	}
	return nil
}

// finish runs a call that begin has counted. It turns a panic into an error: in a goroutine of its own a panic would
// end the process.
func (c *Calls) finish(ctx context.Context, call func(context.Context) error) (err error) {
	defer c.running.Add(-1)
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("storekit: the call panicked: " + DescribePanic(p))
		}
	}()
	return call(ctx)
}
