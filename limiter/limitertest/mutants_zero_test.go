package limitertest

import (
	"context"
	"slices"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
	"github.com/httplimit/httplimit/limiter/internal/refstore"
)

// zeroIs changes what is asked of a limit of 0.
func zeroIs(change func(*limiter.Charge)) func(*refstore.Store) limiter.Store {
	return misread(func(c *limiter.Charge) {
		if c.Limit.Requests == 0 && c.Limit.Window > 0 {
			change(c)
		}
	})
}

// besideZero takes the charges that no limit of 0 refuses as it likes, where one does.
func besideZero(take func(ctx context.Context, r *refstore.Store, others []limiter.Charge)) func(
	*refstore.Store) limiter.Store {
	return mistaken(func(ctx context.Context, r *refstore.Store, charges []limiter.Charge) (bool, error) {
		if slices.ContainsFunc(charges, func(c limiter.Charge) bool { return refusedByZero(&c) }) {
			take(ctx, r, slices.DeleteFunc(slices.Clone(charges), func(c limiter.Charge) bool { return refusedByZero(&c) }))
		}
		return r.Take(ctx, charges)
	})
}

func zeroMutants() []mutant {
	return []mutant{
		{name: "a limit of 0 is one of 1", fails: "limit of 0",
			make: zeroIs(func(c *limiter.Charge) { c.Limit.Requests = 1 })},
		{name: "cost 0 passes a limit of 0", fails: "limit of 0",
			make: zeroIs(func(c *limiter.Charge) {
				if c.Cost == 0 {
					c.Mode = limiter.Force
				}
			})},
		{name: "a limit of 0 tells a wait", fails: "limit of 0",
			make: misreported(func(c *limiter.Charge) {
				if c.RetryAfter == limiter.Never && c.Limit.Requests == 0 {
					c.RetryAfter, c.ResetAfter = c.Limit.Window, c.Limit.Window
				}
			})},
		{name: "peek passes a limit of 0", fails: "limit of 0",
			make: zeroIs(func(c *limiter.Charge) {
				if c.Mode == limiter.Peek {
					c.Limit.Requests = limiter.MaxCount
				}
			})},
		{name: "the zero Limit is a limit of 0", fails: "limit of 0",
			make: misread(func(c *limiter.Charge) {
				if c.Limit == (limiter.Limit{}) {
					c.Limit = limiter.PerMinute(0)
				}
			})},
		{name: "beside a limit of 0 the others are spent", fails: "limit of 0 in a batch",
			make: besideZero(func(ctx context.Context, r *refstore.Store, others []limiter.Charge) {
				r.Take(ctx, others)
			})},
		{name: "refunds pass a limit of 0", fails: "limit of 0 in a batch",
			make: besideZero(func(ctx context.Context, r *refstore.Store, others []limiter.Charge) {
				r.Take(ctx, slices.DeleteFunc(others, func(c limiter.Charge) bool { return c.Cost >= 0 }))
			})},
		{name: "a limit of 0 in shadow refuses", fails: "limit of 0 in a batch",
			make: zeroIs(func(c *limiter.Charge) { c.Mode = limiter.Enforce })},
		{name: "a limit of 0 in shadow ends the batch", fails: "limit of 0 in a batch",
			make: mistaken(func(ctx context.Context, r *refstore.Store, charges []limiter.Charge) (bool, error) {
				for i := range charges {
					if refusedByZero(&charges[i]) && charges[i].Mode == limiter.Shadow {
						charges = charges[:i+1]
						break
					}
				}
				return r.Take(ctx, charges)
			})},
		{name: "who is not judged beside a limit of 0 is not marked", fails: "limit of 0 in a batch",
			make: misreported(func(c *limiter.Charge) { c.Cached = false })},
		{name: "a limit of 0 resets its counter", fails: "limit becomes 0 and comes back",
			make: mistaken(func(ctx context.Context, r *refstore.Store, charges []limiter.Charge) (bool, error) {
				for i := range charges {
					if refusedByZero(&charges[i]) {
						r.Reset(ctx, charges[i:i+1])
					}
				}
				return r.Take(ctx, charges)
			})},
		{name: "nothing is refunded under a limit of 0", fails: "limit becomes 0 and comes back",
			make: zeroIs(func(c *limiter.Charge) { c.Cost = max(0, c.Cost) })},
		{name: "nothing is forced under a limit of 0", fails: "limit becomes 0 and comes back",
			make: zeroIs(func(c *limiter.Charge) {
				if c.Mode == limiter.Force {
					c.Cost = min(0, c.Cost)
				}
			})},
		{name: "under a limit of 0 nothing is refilled", fails: "limit of 0 over time", algorithm: limiter.TokenBucket,
			make: misloaded(func(c *refstore.Counter, l limiter.Limit, now int64) algorithm.Usage {
				if l.Requests == 0 {
					return algorithm.Usage{State: limiter.State{At: now}, Debt: c.Debt}
				}
				return c.Load(l, now)
			})},
		{name: "under a limit of 0 the previous window is forgotten", fails: "limit of 0 over time",
			make: misloaded(func(c *refstore.Counter, l limiter.Limit, now int64) algorithm.Usage {
				u := c.Load(l, now)
				if l.Requests == 0 {
					u.Previous = 0
				}
				return u
			})},
	}
}
