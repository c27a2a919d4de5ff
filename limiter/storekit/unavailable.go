package storekit

import (
	"errors"
	"fmt"
	"time"
)

// ErrOpen is wrapped by the error of [Breaker.Begin] while the breaker is open.
var ErrOpen = errors.New("the server has failed lately and is not asked")

// ErrBusy is wrapped by the error of [Calls.Run] when too many calls are running.
var ErrBusy = errors.New("too many calls are waiting for the server")

// UnavailableError is the error of a store that cannot decide now. It says when to ask again: an HTTP middleware sends
// RetryAfter with its 503. Find it with [errors.As].
type UnavailableError struct {
	RetryAfter time.Duration // until the next probe; 0 if unknown
	Err        error         // the reason, never nil
}

func (e *UnavailableError) Error() string {
	if e.RetryAfter <= 0 {
		return fmt.Sprintf("storekit: unavailable: %v", e.Err)
	}
	return fmt.Sprintf("storekit: unavailable for %v: %v", e.RetryAfter.Round(time.Millisecond), e.Err)
}

// Unwrap returns Err.
func (e *UnavailableError) Unwrap() error { return e.Err }
