package storekit

import (
	"sync"
	"time"
)

// Clock is a clock that never goes back. Make one with [NewClock]; it is safe for concurrent use.
type Clock struct {
	base time.Time        // when the clock was made, with a monotonic reading if it is the system's
	now  func() time.Time // nil: the system's

	mu      sync.Mutex // guards last and elapsed
	last    time.Time
	elapsed time.Duration
}

// NewClock returns a clock that starts now. With nil it reads the wall clock once and is monotonic from there: later
// steps of the wall clock do not change it.
//
// A function of time is for tests. The clock follows every step forward. At a step back it stands still, and goes on
// from there, ahead of the function by the size of the step. So no key of a store is locked out until the time before
// the step is reached again, and no window that is over comes back.
func NewClock(now func() time.Time) *Clock {
	if now == nil {
		return &Clock{base: time.Now()}
	}
	base := now()
	return &Clock{base: base, last: base, now: now}
}

// Now returns the time since the clock was made.
func (c *Clock) Now() time.Duration {
	if c.now == nil {
		return time.Since(c.base)
	}
	// Read under the lock: a reading overtaken by a later one would look like a step back.
	c.mu.Lock()
	defer c.mu.Unlock()
	reading := c.now()
	c.elapsed += max(0, reading.Sub(c.last))
	c.last = reading
	return c.elapsed
}

// UnixMilli returns a moment of this clock in Unix milliseconds, the unit in which stores decide.
func (c *Clock) UnixMilli(now time.Duration) int64 {
	return c.base.Add(now).UnixMilli()
}
