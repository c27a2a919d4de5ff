package limitertest

import (
	"context"
	"errors"
	"math"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/internal/refstore"
)

func batchMutants() []mutant {
	return []mutant{
		{name: "a refusal counts", fails: "refusal spends nothing",
			make: mistaken(func(ctx context.Context, r *refstore.Store, charges []limiter.Charge) (bool, error) {
				taken, err := r.Take(ctx, charges)
				if !taken {
					r.Take(ctx, []limiter.Charge{as(limiter.Force, charges[0])})
				}
				return taken, err
			})},
		{name: "caches refusals without their cost", fails: "refusal spends nothing",
			make: cachesRefusals(func(c *limiter.Charge) refusalID {
				return refusalID{counter: counterOf(c)}
			})},
		{name: "reports less for a charge that it has refused before", fails: "refusal spends nothing",
			make: func(r *refstore.Store) limiter.Store {
				refused := map[refusalID]bool{}
				return misreported(func(c *limiter.Charge) {
					if id := refusalIDOf(c); refused[id] {
						c.Remaining = 0
					} else {
						refused[id] = !c.Allowed
					}
				})(r)
			}},
		{name: "an empty batch is an error", fails: "no charges",
			make: mistaken(func(ctx context.Context, r *refstore.Store, charges []limiter.Charge) (bool, error) {
				if len(charges) == 0 {
					return false, errors.New("mutant: nothing to do")
				}
				return r.Take(ctx, charges)
			})},
		{name: "charges are taken one by one", fails: "two limits of one key", make: mistaken(oneByOne)},
		{name: "charges are taken one by one, two keys", fails: "two keys", make: mistaken(oneByOne)},
		{name: "charges are taken one by one, callers", fails: "many callers of two keys", make: mistaken(oneByOne)},
		{name: "charges are judged one by one, then spent", fails: "one counter twice", make: mistaken(judgedOneByOne)},
		{name: "judges no further than the first refusal", fails: "order of a batch",
			make: mistaken(func(ctx context.Context, r *refstore.Store, charges []limiter.Charge) (bool, error) {
				taken, err := r.Take(ctx, charges)
				refused := false
				for i := range charges {
					if refused {
						charges[i].Decision = limiter.Decision{}
					}
					refused = refused || !taken && !charges[i].Allowed
				}
				return taken, err
			})},
		{name: "caches refusals of batches", fails: "refused in a batch", make: cachesRefusals(refusalIDOf)},
		{name: "takes no more than 128 charges", fails: "large batch",
			make: mistaken(func(ctx context.Context, r *refstore.Store, charges []limiter.Charge) (bool, error) {
				return r.Take(ctx, charges[:min(len(charges), 128)])
			})},
		{name: "cost 0 is always allowed", fails: "cost 0",
			make: mistaken(func(ctx context.Context, r *refstore.Store, charges []limiter.Charge) (bool, error) {
				if len(charges) == 1 && charges[0].Cost == 0 {
					defer func() { charges[0].Allowed, charges[0].RetryAfter = true, 0 }()
					_, err := r.Take(ctx, charges)
					return true, err
				}
				return r.Take(ctx, charges)
			})},
		{name: "cost 0 spends one unit", fails: "cost 0", make: misread(func(c *limiter.Charge) {
			if c.Cost == 0 && c.Mode == limiter.Enforce {
				c.Cost = 1
			}
		})},
		{name: "never is a window", fails: "cost above capacity", make: misreported(func(c *limiter.Charge) {
			c.RetryAfter = min(c.RetryAfter, c.Limit.Window)
		})},
		{name: "costs in 32 bits", fails: "cost above capacity",
			make: misread(func(c *limiter.Charge) { c.Cost = int64(int32(c.Cost)) })},
		{name: "counts in 24 bits", fails: "limits change",
			make: miskept(func(c *refstore.Counter, _ limiter.Limit, _ int64) { c.Current %= wide })},
		{name: "previous counts in 24 bits", fails: "limits change over time",
			make: miskept(func(c *refstore.Counter, _ limiter.Limit, _ int64) { c.Previous %= wide })},
		{name: "counts in 32 bits", fails: "force saturates", make: misread(func(c *limiter.Charge) {
			if c.Mode == limiter.Force {
				c.Cost = int64(int32(c.Cost))
			}
		})},
		{name: "weights in 64 bits", fails: "extremes", make: misreported(func(c *limiter.Charge) {
			w := c.Limit.Window.Milliseconds()
			if c.Previous > math.MaxInt64/w {
				c.Remaining = c.Limit.Requests - c.Current - c.Previous*(w-c.At%w)/w
			}
		})},
		{name: "a limit's own requests are part of the counter", fails: "limits change",
			make: misread(func(c *limiter.Charge) {
				c.Scope += c.Limit.String()
			})},
	}
}

func oneByOne(ctx context.Context, r *refstore.Store, charges []limiter.Charge) (bool, error) {
	all := true
	for i := range charges {
		taken, err := r.Take(ctx, charges[i:i+1])
		if err != nil {
			return false, err
		}
		all = all && taken
	}
	return all, nil
}

func judgedOneByOne(ctx context.Context, r *refstore.Store, charges []limiter.Charge) (bool, error) {
	all := true
	for i := range charges {
		peeks := []limiter.Charge{as(limiter.Peek, charges[i])}
		if _, err := r.Take(ctx, peeks); err != nil {
			return false, err
		}
		charges[i].State, charges[i].Decision = peeks[0].State, peeks[0].Decision
		all = all && (peeks[0].Allowed || charges[i].Mode != limiter.Enforce)
	}
	for i := range charges {
		if c := charges[i]; all && c.Allowed && c.Mode != limiter.Peek {
			r.Take(ctx, []limiter.Charge{as(limiter.Force, c)})
		}
	}
	return all, nil
}

// cachesRefusals answers what was refused before with the same refusal until something is refunded.
func cachesRefusals(identity func(*limiter.Charge) refusalID) func(*refstore.Store) limiter.Store {
	return func(r *refstore.Store) limiter.Store {
		cached := map[refusalID]limiter.Charge{}
		return mistaken(func(ctx context.Context, r *refstore.Store, charges []limiter.Charge) (bool, error) {
			for i := range charges {
				if c, ok := cached[identity(&charges[i])]; ok && charges[i].Mode == limiter.Enforce {
					charges[i].State, charges[i].Decision = c.State, c.Decision
					return false, nil
				}
			}
			taken, err := r.Take(ctx, charges)
			for i := range charges {
				if !charges[i].Allowed && charges[i].Mode == limiter.Enforce {
					cached[identity(&charges[i])] = charges[i]
				}
				if charges[i].Cost < 0 {
					clear(cached)
				}
			}
			return taken, err
		})(r)
	}
}
