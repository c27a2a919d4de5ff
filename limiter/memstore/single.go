package memstore

import (
	"context"
	"sync/atomic"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/internal/single"
)

// Single is for [limiter.New], and cannot be called from outside this module. It returns s itself and what decides
// single charges of one scope and valid limit as Take does, in fewer steps. A type that embeds s has this method too,
// and may have another Take: to tell it from s is what self is for.
func (s *Store) Single(_ single.Only, scope string, l limiter.Limit) (
	self limiter.Store,
	take func(ctx context.Context, key string, cost int64, mode limiter.Mode) (limiter.Decision, error),
) {
	if s == nil { // embedded so
		return s, nil
	}
	a := &singles{store: s, scope: scope, scopeHash: s.hashScope(scope), limit: l}
	return s, a.take
}

// singles decides the single charges of a Limiter. What of a decision does not depend on the key is done beforehand.
type singles struct {
	store     *Store
	scope     string
	scopeHash uint64
	limit     limiter.Limit
	table     atomic.Pointer[table] // the latest one of limit, if there was one
}

func (a *singles) take(ctx context.Context, key string, cost int64, mode limiter.Mode) (limiter.Decision, error) {
	if err := ctx.Err(); err != nil {
		return limiter.Decision{}, err
	}
	if a.limit.Requests == 0 {
		return a.takeZero(ctx, key, cost, mode)
	}
	var v visit
	if err := a.enter(&v, key); err != nil {
		return limiter.Decision{}, err
	}
	if mode == limiter.Enforce && v.spend(&a.limit, cost) {
		return v.counts.Decide(&a.limit, cost, v.remaining), nil
	}
	return a.takeAny(&v, key, cost, mode), nil
}

// takeAny decides what the fast path does not.
func (a *singles) takeAny(v *visit, key string, cost int64, mode limiter.Mode) limiter.Decision {
	c := limiter.Charge{Scope: a.scope, Key: key, Limit: a.limit, Cost: cost, Mode: mode}
	v.take(&c)
	return c.Decision
}

func (a *singles) enter(v *visit, key string) error {
	v.now, v.hash = a.store.clock.now(), a.scopeHash^a.store.hashKey(key)
	if t := a.table.Load(); t != nil && v.enter(a.store, t) {
		return nil
	}
	t, err := v.enterTableOf(a.store, &a.limit)
	if err == nil {
		a.table.Store(t)
	}
	return err
}

func (a *singles) takeZero(
	ctx context.Context, key string, cost int64, mode limiter.Mode,
) (limiter.Decision, error) {
	batch := []limiter.Charge{{Scope: a.scope, Key: key, Limit: a.limit, Cost: cost, Mode: mode}}
	_, err := a.store.Take(ctx, batch)
	return batch[0].Decision, err
}
