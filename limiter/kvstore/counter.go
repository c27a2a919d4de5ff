package kvstore

import (
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// counter is one counter of a joint in its current window.
type counter struct {
	base   string        // of its keys
	hash   uint64        // of base, for cachedCounts
	limit  limiter.Limit // Algorithm and Window are those of all its charges
	number int64         // of the current window, from the epoch

	// The units that others have spent: in this window, in the previous one, and in the next one, where processes
	// with a faster clock count already.
	current, previous, next int64

	// What the current and the previous window come to with the batches that are judged.
	spent, spentPrevious int64

	previousFinal bool  // the count of the previous window changes no more
	reserved      int64 // units that the batches have added to the KV
	announced     bool  // cachedCounts knows that they add
	changed       bool  // their addition found another count than was read or cached
}

func (c *counter) sliding() bool { return c.limit.Algorithm == limiter.SlidingWindow }

// start and end are the boundaries of the current window, in Unix milliseconds.
func (c *counter) start() int64 { return c.number * c.limit.Window.Milliseconds() }
func (c *counter) end() int64   { return c.start() + c.limit.Window.Milliseconds() }

// count returns the units that count in full against the limit: those of the current and of the next window.
func (c *counter) count() int64 { return bounded(bounded(c.current) + bounded(c.next)) }

// change returns what the batches, as judged, add to the count of the current window.
func (c *counter) change() int64 { return c.spent - c.count() }

// changePrevious returns what they add to that of the previous window: 0 or less.
func (c *counter) changePrevious() int64 {
	if !c.sliding() {
		return 0
	}
	return c.spentPrevious - bounded(c.previous)
}

// bounded limits a count of the KV to the range that a counter can hold.
func bounded(count int64) int64 { return min(max(0, count), limiter.MaxCount) }

// nextMayCount reports whether a process with a faster clock may be in the next window already.
func (s *Store) nextMayCount(c *counter, now int64) bool {
	return c.end()-now <= millis(s.skew)
}

// timeToLive returns the time until the current window counts on no process's clock any more.
func (s *Store) timeToLive(c *counter, at int64) time.Duration {
	end := c.end()
	if c.sliding() {
		end += c.limit.Window.Milliseconds()
	}
	return time.Duration(end-at)*time.Millisecond + s.skew + s.timeout
}

// millis rounds up.
func millis(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}
