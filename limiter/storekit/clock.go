package storekit

import (
	"sync"
	"time"
)

// Clock tells time that never goes back. Make one with [NewClock]; it is safe for concurrent use.
type Clock struct {
	base time.Time        // when the clock was made, with a monotonic reading if it is the system's
	now  func() time.Time // nil: the system's

	mu      sync.Mutex // guards last and elapsed
	last    time.Time
	elapsed time.Duration
}

// NewClock returns a clock that starts now. With nil it reads the wall clock once and is monotonic from there:
// steps of the wall clock do not reach it.
//
// With a function of time, which is for tests, every step forward is followed. A step back is absorbed: the clock
// stands still for that step and goes on from there, ahead of the function by the size of the step. So no key of a
// store is locked out until the time before the step is reached again, and no window that is over comes back.
func NewClock(now func() time.Time) *Clock {
	if now == nil {
		return &Clock{base: time.Now()}
	}
	base := now()
	return &Clock{base: base, last: base, now: now}
}

// Now is the time since the clock was made.
func (c *Clock) Now() time.Duration {
	if c.now == nil {
		return time.Since(c.base)
	}
	// Read under the lock, or a reading that was overtaken by a later one would look like a step back.
	c.mu.Lock()
	defer c.mu.Unlock()
	reading := c.now()
	c.elapsed += max(0, reading.Sub(c.last))
	c.last = reading
	return c.elapsed
}

// UnixMilli turns a moment of this clock into Unix milliseconds, the unit in which stores decide.
func (c *Clock) UnixMilli(now time.Duration) int64 {
	return c.base.Add(now).UnixMilli()
}
