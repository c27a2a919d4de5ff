package memstore

import (
	"sync/atomic"
	"time"
)

// clock tells wall time in milliseconds without ever stepping: the wall is read once, then the monotonic clock
// counts on from there.
type clock struct {
	started time.Time
	// wall is what the wall clock showed at started, in nanoseconds since the Unix epoch. Atomic because tests
	// move it.
	wall atomic.Int64
}

func (c *clock) start() {
	c.started = time.Now()
	c.wall.Store(max(0, c.started.UnixNano()))
}

// now is in milliseconds since the Unix epoch.
func (c *clock) now() int64 {
	return (c.wall.Load() + int64(time.Since(c.started))) / int64(time.Millisecond)
}
