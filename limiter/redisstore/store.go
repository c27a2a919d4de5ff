package redisstore

import (
	"context"
	"errors"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/storekit"
)

var _ limiter.Store = (*Store)(nil)

// Store is a [limiter.Store] in Redis. It runs all four algorithms, on the server's clock. It is safe for concurrent
// use and has nothing to close; the client stays its maker's.
type Store struct {
	prefix  string
	timeout time.Duration
	clock   *storekit.Clock
	cache   *storekit.DenyCache
	batches batches
	servers *servers
}

// Take implements [limiter.Store]. An error wraps a [storekit.UnavailableError] while the server is known to be down,
// and [context.DeadlineExceeded] if it did not answer within Config.Timeout.
//
// On a Cluster the charges of different keys lie in different slots. Those of one key are spent together; the keys
// are spent in order, and what was spent is given back when a later one refuses. Others may see it in between.
func (s *Store) Take(ctx context.Context, charges []limiter.Charge) (taken bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if len(charges) == 0 {
		return true, nil
	}
	before := s.clock.Now()
	if s.cache.Answer(charges, before) {
		return false, nil
	}
	if s.servers.caller.apart.Load() && !oneKey(charges) {
		taken, err = s.takeApart(ctx, charges, before)
	} else {
		taken, err = s.takeWhole(ctx, charges, before)
	}
	if err != nil {
		s.cache.Forget(charges, s.clock.Now())
		return false, err
	}
	s.cache.Learn(charges, taken, before, s.clock.Now())
	return taken, nil
}

// Reset implements [limiter.Store]. It also deletes values of other programs that stand in the way of a counter.
func (s *Store) Reset(ctx context.Context, charges []limiter.Charge) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(charges) == 0 {
		return nil
	}
	before := s.clock.Now()
	parts := []part{{charges: charges}}
	if s.servers.caller.apart.Load() {
		parts = byKey(charges)
	}
	var faults []error
	for _, p := range parts {
		b := s.batches.get(before)
		b.addReset(s.prefix, p.charges)
		if err := s.servers.of(ctx, b).do(ctx, b); err != nil {
			faults = append(faults, err)
			continue
		}
		s.batches.put(b)
	}
	for i := range charges {
		s.cache.Drop(&charges[i], s.clock.Now())
	}
	return errors.Join(faults...)
}

// Healthy tells whether decisions get to the server, for a readiness page: false while the breaker of one server
// is open. Always true with Config.NoBreaker.
func (s *Store) Healthy() bool { return s.servers.healthy() }

// takeWhole decides charges that can be in one call.
func (s *Store) takeWhole(ctx context.Context, charges []limiter.Charge, start time.Duration) (taken bool, err error) {
	b := s.batches.get(start)
	b.add(s.prefix, charges)
	if err := s.servers.of(ctx, b).do(ctx, b); err != nil {
		if s.servers.notInOneCall(err) && !oneKey(charges) {
			return s.takeApart(ctx, charges, start)
		}
		return false, err
	}
	taken, err = b.decide(charges)
	s.batches.put(b)
	return taken, err
}
