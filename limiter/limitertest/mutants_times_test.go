package limitertest

import (
	"slices"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
	"github.com/httplimit/httplimit/limiter/internal/refstore"
)

func timeMutants() []mutant {
	return []mutant{
		{name: "a clock in seconds", fails: "clock", make: func(r *refstore.Store) limiter.Store {
			clock := r.Clock
			r.Clock = func() int64 { return clock() / 1000 * 1000 }
			return r
		}},
		{name: "weights in floats", fails: "vectors", make: misreported(func(c *limiter.Charge) {
			share := 1 - float64(c.At%c.Limit.Window.Milliseconds())/float64(c.Limit.Window.Milliseconds())
			if c.Previous > 0 && c.Allowed {
				c.Remaining = max(0, c.Limit.Requests-c.Current-c.Cost-int64(share*float64(c.Previous)))
			}
		})},
		{name: "windows begin one millisecond late", fails: "vectors", algorithm: limiter.FixedWindow,
			make: func(r *refstore.Store) limiter.Store {
				r.Load = func(c *refstore.Counter, l limiter.Limit, now int64) algorithm.Usage {
					u := c.Load(l, now-1)
					u.At = now
					return u
				}
				return r
			}},
		{name: "retry at the end of the window", fails: "retry after", make: misreported(func(c *limiter.Charge) {
			if !c.Allowed {
				c.RetryAfter = c.Limit.Window - time.Duration(c.At%c.Limit.Window.Milliseconds())*time.Millisecond
			}
		})},
		{name: "retry one millisecond early", fails: "retry after", algorithm: limiter.TokenBucket,
			make: misreported(func(c *limiter.Charge) {
				c.RetryAfter = max(0, c.RetryAfter-time.Millisecond)
			})},
		{name: "retry in whole seconds", fails: "retry after", algorithm: limiter.SlidingLog,
			make: misreported(func(c *limiter.Charge) {
				if c.RetryAfter != limiter.Never {
					c.RetryAfter = (c.RetryAfter + time.Second - 1).Truncate(time.Second)
				}
			})},
		{name: "reset at the end of the window", fails: "reset after", make: misreported(func(c *limiter.Charge) {
			c.ResetAfter = min(c.ResetAfter, c.Limit.Window-time.Duration(c.At%c.Limit.Window.Milliseconds())*time.Millisecond)
		})},
		{name: "window numbers modulo 32", fails: "idle",
			make: misloaded(func(c *refstore.Counter, l limiter.Limit, now int64) algorithm.Usage {
				number := now / l.Window.Milliseconds()
				c.Number = number - (number-c.Number)%32
				return c.Load(l, now)
			})},
		{name: "a clock set back frees", fails: "clock goes back",
			make: misloaded(func(c *refstore.Counter, l limiter.Limit, now int64) algorithm.Usage {
				if c.Number > now/l.Window.Milliseconds() {
					*c = refstore.Counter{}
				}
				return c.Load(l, now)
			})},
		{name: "a clock set back locks out until it has caught up", fails: "clock goes back",
			make: misloaded(func(c *refstore.Counter, l limiter.Limit, now int64) algorithm.Usage {
				before := *c
				defer func() { *c = before }()
				return c.Load(l, now)
			})},
		{name: "a bucket does not refill until a clock set back has caught up", fails: "clock goes back",
			algorithm: limiter.TokenBucket, make: misloaded(func(c *refstore.Counter, l limiter.Limit,
				now int64) (u algorithm.Usage) {
				u.LoadBucket(&l, now, c.At, c.Debt)
				return u
			})},
		{name: "a log waits until a clock set back has caught up", fails: "clock goes back", algorithm: limiter.SlidingLog,
			make: misloaded(func(c *refstore.Counter, l limiter.Limit, now int64) algorithm.Usage {
				before := slices.Clone(c.Log)
				defer func() { c.Log = before }()
				return c.Load(l, now)
			})},
		{name: "a jump forward frees", fails: "clock goes forward", algorithm: limiter.TokenBucket,
			make: misloaded(func(c *refstore.Counter, l limiter.Limit, now int64) algorithm.Usage {
				if now-c.At > l.Window.Milliseconds()/3 {
					*c = refstore.Counter{}
				}
				return c.Load(l, now)
			})},
		{name: "what was counted ahead of the clock weighs less", fails: "clock goes forward and back",
			make: misloaded(func(c *refstore.Counter, l limiter.Limit, now int64) algorithm.Usage {
				c.Number = min(c.Number, now/l.Window.Milliseconds())
				return c.Load(l, now)
			})},
	}
}
