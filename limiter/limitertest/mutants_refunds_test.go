package limitertest

import (
	"context"
	"runtime"
	"strings"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/internal/refstore"
)

func refundMutants() []mutant {
	return []mutant{
		{name: "too large a refund is credit", fails: "refund", make: mistaken(credit)},
		{name: "a refund of an unknown key is credit", fails: "refund of an unknown key", make: mistaken(credit)},
		{name: "refunds are kept by a batch that is refused", fails: "refund in a batch",
			make: mistaken(func(ctx context.Context, r *refstore.Store, charges []limiter.Charge) (bool, error) {
				taken, err := r.Take(ctx, charges)
				for i := range charges {
					if !taken && charges[i].Cost < 0 {
						r.Take(ctx, []limiter.Charge{charges[i]})
					}
				}
				return taken, err
			})},
		{name: "refunds come after the rest of their batch", fails: "refund in a batch",
			make: mistaken(func(ctx context.Context, r *refstore.Store, charges []limiter.Charge) (bool, error) {
				var order []int
				for _, late := range []bool{false, true} {
					for i := range charges {
						if charges[i].Cost < 0 == late {
							order = append(order, i)
						}
					}
				}
				others := make([]limiter.Charge, len(charges))
				for i, from := range order {
					others[i] = charges[from]
				}
				taken, err := r.Take(ctx, others)
				for i, to := range order {
					charges[to] = others[i]
				}
				return taken, err
			})},
		{name: "a late refund goes to the window of now", fails: "refund by state", make: misread(func(c *limiter.Charge) {
			if c.Cost < 0 {
				c.At = 0
			}
		})},
		{name: "a late refund is lost", fails: "refund by state",
			make: mistaken(func(ctx context.Context, r *refstore.Store, charges []limiter.Charge) (bool, error) {
				if c := &charges[0]; c.Cost < 0 && c.At != 0 &&
					c.At/c.Limit.Window.Milliseconds() != r.Clock()/c.Limit.Window.Milliseconds() {
					c.Cost = 0
					defer func() { c.Cost = -20 }()
				}
				return r.Take(ctx, charges)
			})},
		{name: "a late refund reaches units that are younger", fails: "refund by state", algorithm: limiter.SlidingLog,
			make: misread(func(c *limiter.Charge) {
				if c.Cost < 0 {
					c.At = 0
				}
			})},
		{name: "a refund without state reaches only the current window", fails: "refund without state",
			make: mistaken(func(ctx context.Context, r *refstore.Store, charges []limiter.Charge) (bool, error) {
				if c := &charges[0]; c.Cost < 0 && c.At == 0 {
					c.At = r.Clock()
				}
				return r.Take(ctx, charges)
			})},
		{name: "a log refunds its oldest units", fails: "random batches over time", algorithm: limiter.SlidingLog,
			make: miskept(func(c *refstore.Counter, _ limiter.Limit, _ int64) {
				if n := len(c.Log); n > 1 {
					c.Log[0].N, c.Log[n-1].N = c.Log[n-1].N, c.Log[0].N
				}
			})},
		{name: "refunds read, then write", fails: "many callers refunding",
			make: mistaken(func(ctx context.Context, r *refstore.Store, charges []limiter.Charge) (bool, error) {
				if charges[0].Cost >= 0 {
					return r.Take(ctx, charges)
				}
				held := ask(ctx, r, cost(0, charges[0])).Current
				runtime.Gosched()
				r.Mu.Lock()
				defer r.Mu.Unlock()
				r.Counter(refstore.IDOf(&charges[0])).Current = max(0, held+charges[0].Cost)
				return true, nil
			})},
		{name: "a reset is a prefix", fails: "reset", make: misreset(func(r *refstore.Store, charges []limiter.Charge) {
			for i := range charges {
				for id := range r.Counters {
					if strings.HasPrefix(id.Key, charges[i].Key) {
						delete(r.Counters, id)
					}
				}
			}
		})},
		{name: "a reset is a pattern", fails: "reset", make: misreset(func(r *refstore.Store, charges []limiter.Charge) {
			for i := range charges {
				delete(r.Counters, refstore.IDOf(&charges[i]))
				if charges[i].Key == "*" {
					clear(r.Counters)
				}
			}
		})},
		{name: "a reset forgets every scope", fails: "reset",
			make: misreset(func(r *refstore.Store, charges []limiter.Charge) {
				for i := range charges {
					for id := range r.Counters {
						if id.Key == charges[i].Key {
							delete(r.Counters, id)
						}
					}
				}
			})},
		{name: "a reset leaves the previous window", fails: "reset across windows",
			make: misreset(func(r *refstore.Store, charges []limiter.Charge) {
				for i := range charges {
					c := r.Counter(refstore.IDOf(&charges[i]))
					u := c.Load(charges[i].Limit, r.Clock())
					c.Number, c.Current, c.Previous = u.Number, 0, u.Previous
				}
			})},
	}
}

// credit lets a refund take a count below zero.
func credit(ctx context.Context, r *refstore.Store, charges []limiter.Charge) (bool, error) {
	if len(charges) != 1 || charges[0].Cost >= 0 {
		return r.Take(ctx, charges)
	}
	r.Mu.Lock()
	c := r.Counter(refstore.IDOf(&charges[0]))
	u := c.Load(charges[0].Limit, r.Clock())
	c.Number, c.Current, c.Previous = u.Number, u.Current+max(charges[0].Cost, -wide), u.Previous
	r.Mu.Unlock()
	given := charges[0].Cost
	charges[0].Cost = 0
	defer func() { charges[0].Cost = given }()
	return r.Take(ctx, charges)
}
