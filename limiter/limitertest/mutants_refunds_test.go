package limitertest

import (
	"context"
	"runtime"
	"strings"

	"github.com/httplimit/httplimit/limiter"
)

func refundMutants() []mutant {
	return []mutant{
		{name: "too large a refund is credit", fails: "refund", make: mistaken(credit)},
		{name: "a refund to nobody is credit", fails: "refund of an unknown key", make: mistaken(credit)},
		{name: "refunds are kept by a batch that is refused", fails: "refund in a batch", make: mistaken(func(ctx context.Context, r *reference, charges []limiter.Charge) (bool, error) {
			taken, err := r.Take(ctx, charges)
			for i := range charges {
				if !taken && charges[i].Cost < 0 {
					r.Take(ctx, []limiter.Charge{charges[i]})
				}
			}
			return taken, err
		})},
		{name: "refunds come after the rest of their batch", fails: "refund in a batch", make: mistaken(func(ctx context.Context, r *reference, charges []limiter.Charge) (bool, error) {
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
		{name: "a late refund is lost", fails: "refund by state", make: mistaken(func(ctx context.Context, r *reference, charges []limiter.Charge) (bool, error) {
			if c := &charges[0]; c.Cost < 0 && c.At != 0 && c.At/c.Limit.WindowMillis() != r.clock()/c.Limit.WindowMillis() {
				c.Cost = 0
				defer func() { c.Cost = -20 }()
			}
			return r.Take(ctx, charges)
		})},
		{name: "a late refund reaches units that are younger", fails: "refund by state", algorithm: limiter.SlidingLog, make: misread(func(c *limiter.Charge) {
			if c.Cost < 0 {
				c.At = 0
			}
		})},
		{name: "a refund without state reaches only the current window", fails: "refund without state", make: mistaken(func(ctx context.Context, r *reference, charges []limiter.Charge) (bool, error) {
			if c := &charges[0]; c.Cost < 0 && c.At == 0 {
				c.At = r.clock()
			}
			return r.Take(ctx, charges)
		})},
		{name: "a log gives back its oldest units", fails: "random batches over time", algorithm: limiter.SlidingLog, make: miskept(func(c *cell, _ limiter.Limit, _ int64) {
			if n := len(c.log); n > 1 {
				c.log[0].units, c.log[n-1].units = c.log[n-1].units, c.log[0].units
			}
		})},
		{name: "refunds read, then write", fails: "many callers giving back", make: mistaken(func(ctx context.Context, r *reference, charges []limiter.Charge) (bool, error) {
			if charges[0].Cost >= 0 {
				return r.Take(ctx, charges)
			}
			held := r.ask(ctx, cost(0, charges[0])).Current
			runtime.Gosched()
			r.mu.Lock()
			defer r.mu.Unlock()
			r.cell(counterOf(&charges[0])).current = max(0, held+charges[0].Cost)
			return true, nil
		})},
		{name: "a reset is a prefix", fails: "reset", make: misreset(func(r *reference, charges []limiter.Charge) {
			for i := range charges {
				for id := range r.cells {
					if strings.HasPrefix(id.key, charges[i].Key) {
						delete(r.cells, id)
					}
				}
			}
		})},
		{name: "a reset is a pattern", fails: "reset", make: misreset(func(r *reference, charges []limiter.Charge) {
			for i := range charges {
				delete(r.cells, counterOf(&charges[i]))
				if charges[i].Key == "*" {
					clear(r.cells)
				}
			}
		})},
		{name: "a reset forgets every scope", fails: "reset", make: misreset(func(r *reference, charges []limiter.Charge) {
			for i := range charges {
				for id := range r.cells {
					if id.key == charges[i].Key {
						delete(r.cells, id)
					}
				}
			}
		})},
		{name: "a reset leaves the previous window", fails: "reset across windows", make: misreset(func(r *reference, charges []limiter.Charge) {
			for i := range charges {
				c := r.cell(counterOf(&charges[i]))
				u := c.load(charges[i].Limit, r.clock())
				c.number, c.current, c.previous = u.Number, 0, u.Previous
			}
		})},
	}
}

// credit lets a refund take a count below zero.
func credit(ctx context.Context, r *reference, charges []limiter.Charge) (bool, error) {
	if len(charges) != 1 || charges[0].Cost >= 0 {
		return r.Take(ctx, charges)
	}
	r.mu.Lock()
	c := r.cell(counterOf(&charges[0]))
	u := c.load(charges[0].Limit, r.clock())
	c.number, c.current, c.previous = u.Number, u.Current+max(charges[0].Cost, -wide), u.Previous
	r.mu.Unlock()
	given := charges[0].Cost
	charges[0].Cost = 0
	defer func() { charges[0].Cost = given }()
	return r.Take(ctx, charges)
}
