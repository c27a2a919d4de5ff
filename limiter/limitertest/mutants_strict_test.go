package limitertest

import (
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
	"github.com/httplimit/httplimit/limiter/internal/refstore"
)

func strictMutants() []mutant {
	const strict = limiter.StrictWindow
	return []mutant{
		{name: "parts are rounded down", fails: "any stretch of one window", algorithm: strict,
			make: misloaded(func(c *refstore.Counter, l limiter.Limit, now int64) algorithm.Usage {
				l.Window -= l.Window % (strictParts * time.Millisecond)
				return c.Load(l, now)
			})},
		{name: "one part too few is counted", fails: "any stretch of one window", algorithm: strict,
			make: misloaded(func(c *refstore.Counter, l limiter.Limit, now int64) algorithm.Usage {
				u := c.Load(l, now)
				_, before := algorithm.PartsOf(l.Window)
				u.Current -= c.Parts.Counts[before]
				c.Parts.Counts[before] = 0
				return u
			})},
		{name: "one part too many is counted", fails: "vectors", algorithm: strict,
			make: func(r *refstore.Store) limiter.Store {
				var late int64 // what has just left
				r.Load = func(c *refstore.Counter, l limiter.Limit, now int64) algorithm.Usage {
					_, before := algorithm.PartsOf(l.Window)
					number, last := c.Parts.Number, c.Parts.Counts[before]
					u := c.Load(l, now)
					if late = 0; u.Number == number+1 {
						late = last
					}
					u.Current += late
					return u
				}
				return r
			}},
		{name: "the leaving part is weighed", fails: "any stretch of one window", algorithm: strict,
			make: misloaded(func(c *refstore.Counter, l limiter.Limit, now int64) algorithm.Usage {
				u := c.Load(l, now)
				length, before := algorithm.PartsOf(l.Window)
				u.Current -= c.Parts.Counts[before] * (now % length) / length
				return u
			})},
		{name: "a strict retry at the next part", fails: "retry after", algorithm: strict,
			make: misreported(func(c *limiter.Charge) {
				if !c.Allowed && c.RetryAfter != limiter.Never {
					part := partLength(c.Limit)
					c.RetryAfter = time.Duration(part-c.At%part) * time.Millisecond
				}
			})},
		{name: "a strict retry when all has left", fails: "retry after", algorithm: strict,
			make: misreported(func(c *limiter.Charge) {
				if !c.Allowed && c.RetryAfter != limiter.Never {
					c.RetryAfter = c.ResetAfter
				}
			})},
		{name: "a late refund goes to the part of now", fails: "refund by state", algorithm: strict,
			make: misread(func(c *limiter.Charge) {
				if c.Cost < 0 {
					c.At = 0
				}
			})},
		{name: "a refund goes to the window of its charge", fails: "refund by state", algorithm: strict,
			make: misread(func(c *limiter.Charge) {
				if c.Cost < 0 && c.At != 0 {
					c.At -= c.At % c.Limit.Window.Milliseconds()
				}
			})},
		{name: "what has left still shows in a refusal", fails: "refund before all ends", algorithm: strict,
			make: misreported(func(c *limiter.Charge) {
				if !c.Allowed && c.Current == 0 && c.Limit.Requests > 0 {
					c.ResetAfter = time.Duration(partLength(c.Limit)) * time.Millisecond
				}
			})},
		{name: "parts of the future are forgotten", fails: "clock goes back", algorithm: strict,
			make: misloaded(func(c *refstore.Counter, l limiter.Limit, now int64) algorithm.Usage {
				length, _ := algorithm.PartsOf(l.Window)
				if c.Parts.Number > now/length {
					c.Parts = algorithm.Parts{}
				}
				return c.Load(l, now)
			})},
		{name: "parts of the future stay there", fails: "clock goes back", algorithm: strict,
			make: misloaded(func(c *refstore.Counter, l limiter.Limit, now int64) algorithm.Usage {
				length, _ := algorithm.PartsOf(l.Window)
				return c.Load(l, max(now, c.Parts.Number*length))
			})},
		{name: "a step forward forgets all parts", fails: "clock goes forward", algorithm: strict,
			make: misloaded(func(c *refstore.Counter, l limiter.Limit, now int64) algorithm.Usage {
				if length, _ := algorithm.PartsOf(l.Window); c.Parts.Number < now/length-2 {
					c.Parts = algorithm.Parts{}
				}
				return c.Load(l, now)
			})},
	}
}
