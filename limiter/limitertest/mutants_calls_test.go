package limitertest

import (
	"context"
	"errors"
	"fmt"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/internal/refstore"
)

func callMutants() []mutant {
	return []mutant{
		{name: "ignores the context", fails: "ended context",
			make: mistaken(func(_ context.Context, r *refstore.Store, charges []limiter.Charge) (bool, error) {
				return r.Take(context.Background(), charges)
			})},
		{name: "spends before it checks the context", fails: "ended context",
			make: mistaken(func(ctx context.Context, r *refstore.Store, charges []limiter.Charge) (bool, error) {
				taken, err := r.Take(context.Background(), charges)
				if ctx.Err() != nil {
					return false, ctx.Err()
				}
				return taken, err
			})},
		{name: "hides why the context ended", fails: "ended context",
			make: mistaken(func(ctx context.Context, r *refstore.Store, charges []limiter.Charge) (bool, error) {
				taken, err := r.Take(ctx, charges)
				if err != nil {
					err = fmt.Errorf("mutant: %v", err)
				}
				return taken, err
			})},
		{name: "keeps the caller's strings", fails: "charges used again", make: func(r *refstore.Store) limiter.Store {
			r.KeepsStrings = true
			return r
		}},
		{name: "an abandoned call is a failure of the store", fails: "abandoned calls",
			make: mistaken(func(ctx context.Context, r *refstore.Store, charges []limiter.Charge) (bool, error) {
				if ctx.Done() != nil {
					<-ctx.Done()
					return false, errors.New("mutant: no answer")
				}
				return r.Take(ctx, charges)
			})},
		{name: "counts an abandoned call under what its memory holds later", fails: "abandoned calls",
			make: mistaken(func(ctx context.Context, r *refstore.Store, charges []limiter.Charge) (bool, error) {
				if ctx.Done() != nil {
					late := charges[0]
					late.Key = "xxxxx"
					r.Take(context.Background(), []limiter.Charge{late})
				}
				return r.Take(ctx, charges)
			})},
		{name: "runs another algorithm instead", fails: "unsupported algorithms",
			make: misread(func(c *limiter.Charge) { c.Limit.Algorithm = limiter.SlidingWindow })},
		{name: "spends what is beside an unsupported algorithm", fails: "unsupported algorithms",
			make: mistaken(func(ctx context.Context, r *refstore.Store, charges []limiter.Charge) (bool, error) {
				for i := range charges {
					if charges[i].Limit.Algorithm != limiter.SlidingWindow {
						return false, limiter.ErrUnsupported
					}
					if _, err := r.Take(ctx, charges[i:i+1]); err != nil {
						return false, err
					}
				}
				return true, nil
			})},
	}
}
