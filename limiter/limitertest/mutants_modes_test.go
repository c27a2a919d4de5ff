package limitertest

import (
	"context"
	"runtime"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/internal/refstore"
)

// modeIs reads one mode as another.
func modeIs(from, to limiter.Mode) func(*refstore.Store) limiter.Store {
	return misread(func(c *limiter.Charge) {
		if c.Mode == from {
			c.Mode = to
		}
	})
}

func modeMutants() []mutant {
	return []mutant{
		{name: "shadow refuses", fails: "shadow", make: modeIs(limiter.Shadow, limiter.Enforce)},
		{name: "shadow spends what does not fit", fails: "shadow", make: modeIs(limiter.Shadow, limiter.Force)},
		{name: "shadow never spends", fails: "shadow", make: modeIs(limiter.Shadow, limiter.Peek)},
		{name: "a shadow charge that does not fit cancels the batch", fails: "shadow",
			make: mistaken(func(ctx context.Context, r *refstore.Store, charges []limiter.Charge) (bool, error) {
				peeks := append([]limiter.Charge(nil), charges...)
				for i := range peeks {
					peeks[i].Mode = limiter.Peek
				}
				r.Take(ctx, peeks)
				for i := range peeks {
					if !peeks[i].Allowed && charges[i].Mode == limiter.Shadow {
						copy(charges, peeks)
						return true, nil
					}
				}
				return r.Take(ctx, charges)
			})},
		{name: "peek spends", fails: "peek", make: modeIs(limiter.Peek, limiter.Shadow)},
		{name: "peek refuses", fails: "peek", make: modeIs(limiter.Peek, limiter.Enforce)},
		{name: "force is refused", fails: "force", make: modeIs(limiter.Force, limiter.Enforce)},
		{name: "force fills up to the limit", fails: "force",
			make: mistaken(func(ctx context.Context, r *refstore.Store, charges []limiter.Charge) (bool, error) {
				others := append([]limiter.Charge(nil), charges...)
				for i := range others {
					if c := &others[i]; c.Mode == limiter.Force {
						c.Cost = min(c.Cost, ask(ctx, r, *c).Remaining)
					}
				}
				taken, err := r.Take(ctx, others)
				for i := range charges {
					charges[i].State, charges[i].Decision = others[i].State, others[i].Decision
				}
				return taken, err
			})},
		{name: "force is spent with a batch that is refused", fails: "force",
			make: mistaken(func(ctx context.Context, r *refstore.Store, charges []limiter.Charge) (bool, error) {
				taken, err := r.Take(ctx, charges)
				for i := range charges {
					if !taken && charges[i].Mode == limiter.Force {
						r.Take(ctx, []limiter.Charge{charges[i]})
					}
				}
				return taken, err
			})},
		{name: "cost 0 always fits", fails: "kept out", algorithm: limiter.TokenBucket,
			make: mistaken(func(ctx context.Context, r *refstore.Store, charges []limiter.Charge) (bool, error) {
				if len(charges) == 1 && charges[0].Cost == 0 {
					charges[0] = ask(ctx, r, charges[0])
					return true, nil
				}
				return r.Take(ctx, charges)
			})},
		{name: "judge a batch by its first charge, then act", fails: "kept out by many at once",
			algorithm: limiter.TokenBucket,
			make: mistaken(func(ctx context.Context, r *refstore.Store, charges []limiter.Charge) (bool, error) {
				if got := ask(ctx, r, charges[0]); !got.Allowed || len(charges) == 1 {
					charges[0] = got
					return got.Allowed, nil
				}
				runtime.Gosched()
				return r.Take(ctx, charges[1:])
			})},
		{name: "modes in a batch are those of its first charge", fails: "mixed modes",
			make: mistaken(func(ctx context.Context, r *refstore.Store, charges []limiter.Charge) (bool, error) {
				others := append([]limiter.Charge(nil), charges...)
				for i := range others {
					others[i].Mode = charges[0].Mode
				}
				taken, err := r.Take(ctx, others)
				for i := range charges {
					charges[i].State, charges[i].Decision = others[i].State, others[i].Decision
				}
				return taken, err
			})},
		{name: "check, then act", fails: "many callers of one key",
			make: mistaken(func(ctx context.Context, r *refstore.Store, charges []limiter.Charge) (bool, error) {
				if got := ask(ctx, r, charges[0]); !got.Allowed || charges[0].Mode == limiter.Peek {
					charges[0] = got
					return got.Allowed, nil
				}
				runtime.Gosched()
				return r.Take(ctx, []limiter.Charge{as(limiter.Force, charges[0])})
			})},
		{name: "check for a boundary, then start anew", fails: "many callers at a window boundary",
			make: mistaken(func(ctx context.Context, r *refstore.Store, charges []limiter.Charge) (bool, error) {
				r.Mu.Lock()
				c, number := r.Counter(refstore.IDOf(&charges[0])), r.Clock()/charges[0].Limit.Window.Milliseconds()
				stale := c.Number != number
				r.Mu.Unlock()
				runtime.Gosched()
				if stale {
					r.Mu.Lock()
					*c = refstore.Counter{Number: number}
					r.Mu.Unlock()
				}
				return r.Take(ctx, charges)
			})},
		{name: "remaining may be negative", fails: "random batches", make: misreported(func(c *limiter.Charge) {
			if c.Mode == limiter.Peek && c.Current > c.Limit.Requests {
				c.Remaining = c.Limit.Requests - c.Current
			}
		})},
	}
}

// ask returns what the charge would get.
func ask(ctx context.Context, r *refstore.Store, c limiter.Charge) limiter.Charge {
	charges := []limiter.Charge{as(limiter.Peek, c)}
	r.Take(ctx, charges)
	charges[0].Mode = c.Mode
	return charges[0]
}
