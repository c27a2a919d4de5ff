package redisstore

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
	"github.com/httplimit/httplimit/limiter/storekit"
)

var _ limiter.Store = (*Store)(nil)

// Store is a [limiter.Store] in Redis. It runs all five algorithms, on the server's clock. It is safe for concurrent
// use and has nothing to close; the client stays its maker's.
type Store struct {
	name    string
	prefix  string
	timeout time.Duration
	clock   *storekit.Clock
	cache   *storekit.DenyCache
	batches batches
	servers *servers

	spentUnderError atomic.Uint64
}

// Take implements [limiter.Store]. An error wraps a [storekit.UnavailableError] while the server is known to be down,
// and [context.DeadlineExceeded] if it did not answer within Config.Timeout. Its text has the cause, as far as it is
// known, and no key.
//
// A caller that waits for the flight of another leaves when ctx ends. One that makes the call keeps to the deadline of
// ctx too. That ctx was cancelled it sees when the server has answered, if the client has ContextTimeoutEnabled: the
// units are spent by then.
//
// On a Cluster different keys lie in different slots. Charges of one key are decided in one step. Those of several are
// judged first and spent then, key after key; where another caller takes the last unit in between, what was spent is
// returned, and others may be refused meanwhile. It costs three calls for two keys.
func (s *Store) Take(ctx context.Context, charges []limiter.Charge) (taken bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if len(charges) == 0 {
		return true, nil
	}
	if algorithm.AsksZero(charges) {
		return algorithm.TakeZero(charges, func(others []limiter.Charge) (bool, error) { return s.Take(ctx, others) })
	}
	before := s.clock.Now()
	if s.cache.Answer(charges, before) {
		return false, nil
	}
	taken, raced, err := s.take(ctx, charges, before)
	switch after := s.clock.Now(); {
	case err != nil:
		s.cache.Forget(charges, after)
		return false, err
	case !raced:
		s.cache.Learn(charges, taken, before, after)
	}
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
	groups := []keyGroup{{charges: charges}}
	if s.servers.sender.perKey.Load() {
		groups = groupByKey(charges)
	}
	var faults []error
	for _, g := range groups {
		b := s.batches.get(before)
		b.addReset(s.prefix, g.charges)
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

// Healthy reports whether decisions get to the server, for a readiness page: false while the breaker is open of one of
// the servers that the client's topology names. Stats says why. Always true with Config.NoBreaker.
func (s *Store) Healthy() bool { return s.servers.healthy() }

// countLost counts the units of a batch that may be spent although its caller got an error.
func (s *Store) countLost(b *batch, charges []limiter.Charge) {
	if !b.lost {
		return
	}
	for i := range charges {
		if c := &charges[i]; c.Cost > 0 && c.Mode != limiter.Peek {
			s.spentUnderError.Add(uint64(c.Cost))
		}
	}
}

// take decides charges in one call, or where that cannot be, key by key. raced is that of takePerKey.
func (s *Store) take(
	ctx context.Context, charges []limiter.Charge, start time.Duration,
) (taken, raced bool, err error) {
	several := !oneKey(charges)
	if several && s.servers.sender.perKey.Load() {
		return s.takePerKey(ctx, charges, start)
	}
	b := s.batches.get(start)
	b.add(s.prefix, charges)
	if err := s.servers.of(ctx, b).do(ctx, b); err != nil {
		if several && s.servers.refusesSeveralKeys(err) {
			return s.takePerKey(ctx, charges, start)
		}
		s.countLost(b, charges)
		return false, false, b.locate(err, charges)
	}
	taken, err = b.decide(charges)
	s.batches.put(b)
	return taken, false, err
}
