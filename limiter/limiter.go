package limiter

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/httplimit/httplimit/limiter/internal/single"
)

// Limiter limits keys by one or more limits over a [Store], without HTTP. All limits of a Limiter are decided in
// one step: a call spends from each of them or from none. Make one with [New]; it is safe for concurrent use.
type Limiter struct {
	store  Store
	scope  string
	limits []Limit
	single takeSingle // of store, if it has it and there is one limit; else nil
	pool   sync.Pool  // of *[]Charge, one charge a limit
	lines  waitLines
}

// New returns a Limiter that counts in store under scope. Two Limiters over one store share counts if their
// scopes are equal, so name the scope after what is limited, such as "mail".
//
// It reports every fault at once: no store, no limit, limits that are invalid or that the store refuses, and two
// limits of equal Algorithm and Window, which would be one counter, so that only the lower one could hold.
func New(store Store, scope string, limits ...Limit) (*Limiter, error) {
	var faults []error
	if store == nil {
		faults = append(faults, errors.New("limiter: store is nil, want a Store such as memstore.New makes"))
	}
	if len(limits) == 0 {
		faults = append(faults, errors.New("limiter: no limits, want at least one"))
	}
	for i, l := range limits {
		if err := checkLimit(store, l); err != nil {
			faults = append(faults, fmt.Errorf("limits[%d]: %w", i, err))
		}
		for j, other := range limits[:i] {
			if other.SameWindow(&l) {
				faults = append(faults, fmt.Errorf("limiter: limits[%d] and limits[%d] have the same Algorithm and Window "+
					"and would be one counter: keep the lower one", j, i))
			}
		}
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	l := &Limiter{store: store, scope: scope, limits: append([]Limit(nil), limits...)}
	if len(limits) == 1 {
		l.single = singleOf(store, scope, limits[0])
	}
	return l, nil
}

// takeSingle decides a charge of one scope and limit, as the Take of a store does.
type takeSingle = func(ctx context.Context, key string, cost int64, mode Mode) (Decision, error)

// singleOf returns what the store has for single charges, or nil. A type that embeds a store which has it, and may
// have another Take, is not that store.
func singleOf(store Store, scope string, l Limit) takeSingle {
	s, ok := store.(interface {
		Single(_ single.Only, scope string, l Limit) (self Store, take takeSingle)
	})
	if !ok {
		return nil
	}
	if self, take := s.Single(single.Only{}, scope, l); self == store {
		return take
	}
	return nil
}

// Allow spends one unit of key, if every limit allows it, and returns the strictest Decision of all: the smallest
// Remaining, the longest RetryAfter and ResetAfter. An error is the store's; the Decision means nothing then.
func (l *Limiter) Allow(ctx context.Context, key string) (Decision, error) {
	return l.take(ctx, key, 1, Enforce)
}

// AllowN is [Limiter.Allow] for n units: it spends all of them or none. n must not be negative; 0 spends nothing.
func (l *Limiter) AllowN(ctx context.Context, key string, n int64) (Decision, error) {
	if n < 0 {
		return Decision{}, fmt.Errorf("limiter: AllowN of %d units, want 0 or more: use Refund to give units back", n)
	}
	return l.take(ctx, key, n, Enforce)
}

// Peek returns what [Limiter.Allow] would return now, and spends nothing.
func (l *Limiter) Peek(ctx context.Context, key string) (Decision, error) {
	return l.take(ctx, key, 1, Peek)
}

// Refund takes n units off what key has spent, in every limit: off the current window first, then off the previous
// one. A counter never falls below zero, so a key that has spent nothing gains nothing.
func (l *Limiter) Refund(ctx context.Context, key string, n int64) error {
	if n < 0 {
		return fmt.Errorf("limiter: Refund of %d units, want 0 or more", n)
	}
	_, err := l.take(ctx, key, -n, Enforce)
	l.lines.freed(key)
	return err
}

// Reset clears what key has spent, in every limit.
func (l *Limiter) Reset(ctx context.Context, key string) error {
	charges := l.fromPool(key, 0, Enforce)
	defer l.release(charges)
	err := l.store.Reset(ctx, *charges)
	l.lines.freed(key)
	return err
}

func (l *Limiter) take(ctx context.Context, key string, cost int64, mode Mode) (Decision, error) {
	if l.single != nil {
		return l.single(ctx, key, cost, mode)
	}
	return l.takeBatch(ctx, key, cost, mode)
}

func (l *Limiter) takeBatch(ctx context.Context, key string, cost int64, mode Mode) (Decision, error) {
	charges := l.fromPool(key, cost, mode)
	defer l.release(charges)
	if _, err := l.store.Take(ctx, *charges); err != nil {
		return Decision{}, err
	}
	return strictest(*charges), nil
}

// fromPool returns one charge for each limit. The caller releases them.
func (l *Limiter) fromPool(key string, cost int64, mode Mode) *[]Charge {
	charges, ok := l.pool.Get().(*[]Charge)
	if !ok {
		fresh := make([]Charge, len(l.limits))
		charges = &fresh
	}
	for i := range *charges {
		// Field by field: writing whole charges and clearing them takes 17 ns more.
		c := &(*charges)[i]
		c.Scope, c.Key, c.Limit, c.Cost, c.Mode = l.scope, key, l.limits[i], cost, mode
		c.State, c.Decision, c.Cached, c.Local, c.Shared = State{}, Decision{}, false, false, false
	}
	return charges
}

// release puts the charges back into the pool, without their keys, which would stay in memory with them.
func (l *Limiter) release(charges *[]Charge) {
	for i := range *charges {
		(*charges)[i].Key = ""
	}
	l.pool.Put(charges)
}

// strictest returns the decision for a caller that needs all charges to be allowed. Without other traffic a charge
// that fits at some moment also fits later, so after the longest wait all of them fit.
func strictest(charges []Charge) Decision {
	d := charges[0].Decision
	for _, c := range charges[1:] {
		d.Allowed = d.Allowed && c.Allowed
		d.Remaining = min(d.Remaining, c.Remaining)
		d.RetryAfter = max(d.RetryAfter, c.RetryAfter)
		d.ResetAfter = max(d.ResetAfter, c.ResetAfter)
	}
	return d
}
