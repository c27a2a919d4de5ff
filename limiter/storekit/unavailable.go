package storekit

import (
	"errors"
	"fmt"
	"time"
)

// ErrOpen is wrapped by what [Breaker.Begin] returns while the breaker is open.
var ErrOpen = errors.New("the server has failed lately and is not asked")

// ErrBusy is returned by [Trips.Run], wrapped, when too many trips are under way.
var ErrBusy = errors.New("too many calls are waiting for the server")

// UnavailableError says that a store cannot decide now and when it may be worth asking again. Find it with
// [errors.As]; an HTTP middleware sends RetryAfter with its 503.
type UnavailableError struct {
	RetryAfter time.Duration // until the next probe; 0 if nothing is known
	Err        error         // why, never nil
}

func (e *UnavailableError) Error() string {
	if e.RetryAfter <= 0 {
		return fmt.Sprintf("storekit: unavailable: %v", e.Err)
	}
	return fmt.Sprintf("storekit: unavailable for %v: %v", e.RetryAfter.Round(time.Millisecond), e.Err)
}

// Unwrap returns Err.
func (e *UnavailableError) Unwrap() error { return e.Err }
