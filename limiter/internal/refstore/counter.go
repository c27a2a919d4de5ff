package refstore

import (
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
)

// Counter is one counter as it is stored.
type Counter struct {
	Number, Current, Previous int64   // SlidingWindow, FixedWindow
	At, Debt                  int64   // TokenBucket
	Log                       []Units // SlidingLog, oldest first
	Parts                     algorithm.Parts
}

// Units are some that a SlidingLog has taken at one moment.
type Units struct{ At, N int64 }

// Load returns what c holds at now. What was counted in the future, before the clock was set back, is moved to now for
// good, so that it ends in time even if no charge is spent.
func (c *Counter) Load(l limiter.Limit, now int64) (u algorithm.Usage) {
	switch l.Algorithm {
	case limiter.TokenBucket:
		c.At = min(c.At, now)
		u.LoadBucket(&l, now, c.At, c.Debt)
		return u
	case limiter.SlidingLog:
		for len(c.Log) > 0 && c.Log[0].At <= now-l.Window.Milliseconds() {
			c.Log = c.Log[1:]
		}
		var used, newest int64
		for i := range c.Log {
			c.Log[i].At = min(c.Log[i].At, now)
			used += c.Log[i].N
			newest = c.Log[i].At
		}
		u.LoadLog(now, used, newest, c)
		return u
	case limiter.StrictWindow:
		u.LoadStrict(&l, now, &c.Parts)
		return u
	}
	u.LoadWindow(&l, now, c.Number, c.Current, c.Previous)
	if c.Number > u.Number {
		c.Number, c.Current, c.Previous = u.Number, u.Current, u.Previous
	}
	return u
}

// Save stores what a batch has left. It may be called more than once for a batch.
func (c *Counter) Save(l limiter.Limit, u *algorithm.Usage) {
	switch l.Algorithm {
	case limiter.TokenBucket:
		if u.Spent != 0 || u.Returned != 0 {
			c.At, c.Debt = u.At, u.DebtAfter(l)
		}
	case limiter.SlidingLog:
		c.refundLog(u.Returned)
		if u.Spent > 0 {
			c.Log = append(c.Log, Units{u.At, u.Spent})
		}
		u.Returned, u.Spent = 0, 0
	case limiter.StrictWindow:
		c.Parts.Counts[0] += u.Spent
		u.Current, u.Spent = u.Current+u.Spent, 0
	default:
		c.Number, c.Current, c.Previous = u.Number, u.Current+u.Spent, u.Previous
	}
}

// refundLog takes n units off the log, the newest first.
func (c *Counter) refundLog(n int64) {
	for n > 0 {
		newest := &c.Log[len(c.Log)-1]
		back := min(n, newest.N)
		newest.N -= back
		n -= back
		if newest.N == 0 {
			c.Log = c.Log[:len(c.Log)-1]
		}
	}
}

// TakenAt implements [algorithm.Log].
func (c *Counter) TakenAt(n int64) int64 {
	for _, units := range c.Log {
		if n -= units.N; n <= 0 {
			return units.At
		}
	}
	return 0
}
