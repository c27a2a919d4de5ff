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
// RetryAfter with its 503. Find it with [errors.As]. Its text is for operators: it holds the cause.
type UnavailableError struct {
	RetryAfter time.Duration // until the next probe; 0 if unknown
	Since      time.Time     // when the outage began; zero if unknown
	Cause      error         // what the first call of the outage failed with; nil if unknown
	Err        error         // the reason, never nil: ErrOpen or ErrBusy
}

// Error returns a text such as "storekit: unavailable since 12:00:01: dial tcp: lookup redis: no such host; next try in
// 63 ms".
func (e *UnavailableError) Error() string {
	text := "storekit: unavailable"
	if !e.Since.IsZero() {
		text += " since " + e.Since.Format(time.TimeOnly)
	}
	why := e.Err
	if e.Cause != nil {
		why = e.Cause
	}
	text += ": " + why.Error()
	if e.RetryAfter > 0 {
		text += fmt.Sprintf("; next try in %d ms", e.RetryAfter.Round(time.Millisecond).Milliseconds())
	}
	return text
}

// Unwrap returns Err and Cause.
func (e *UnavailableError) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Err}
	}
	return []error{e.Err, e.Cause}
}
