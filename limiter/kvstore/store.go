package kvstore

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
	"github.com/httplimit/httplimit/limiter/storekit"
)

// Store is a [limiter.Store] over a [KV]. Make one with [New] and share it; it is safe for concurrent use and has
// nothing to close.
type Store struct {
	kv       KV
	timeout  time.Duration
	skew     time.Duration
	clock    *storekit.Clock
	refusals *storekit.DenyCache
	breaker  *storekit.Breaker
	calls    *storekit.Calls
	counts   *cachedCounts
	queue    *queue
	direct   bool
	address  string
	name     string

	reconnector *reconnector

	spentUnderError atomic.Uint64
}

// Take is [limiter.Store]'s. Its errors are
//
//   - those of the KV, without the keys in their texts;
//   - ctx's own, at once when ctx ends, or with Config.Direct when the KV returns;
//   - one that wraps [context.DeadlineExceeded] after Timeout;
//   - a [*storekit.UnavailableError] while the KV is not asked because it failed, with the cause, or because too many
//     calls or callers wait.
//
// After an error units of the batch may stay spent only where the outcome of an Add is unknown, or an Add to subtract
// them failed.
func (s *Store) Take(ctx context.Context, charges []limiter.Charge) (taken bool, err error) {
	if err := s.check(ctx, charges); err != nil || len(charges) == 0 {
		return err == nil, err
	}
	if algorithm.AsksZero(charges) {
		return algorithm.TakeZero(charges, func(others []limiter.Charge) (bool, error) { return s.Take(ctx, others) })
	}
	before := s.clock.Now()
	if s.refusals.Answer(charges, before) {
		return false, nil
	}
	b := s.newBatch(charges)
	if err := s.submit(ctx, b); err != nil {
		s.refusals.Forget(charges, s.clock.Now())
		return false, err
	}
	b.answer(charges)
	if b.taken || b.conclusive {
		s.refusals.Learn(charges, b.taken, before, s.clock.Now())
	}
	return b.taken, nil
}

// Check is [limiter.Checker]'s: it refuses limits that are invalid, and all algorithms but SlidingWindow and
// FixedWindow.
func (s *Store) Check(l limiter.Limit) error {
	if err := l.Validate(); err != nil {
		return err
	}
	if l.Algorithm != limiter.SlidingWindow && l.Algorithm != limiter.FixedWindow {
		return fmt.Errorf("kvstore: %v: %w", l.Algorithm, limiter.ErrUnsupported)
	}
	return nil
}

// Healthy returns false while the KV is not asked because it has failed too often, until a decision has reached it
// again. It is always true with Config.NoBreaker.
func (s *Store) Healthy() bool { return !s.breaker.Open() }

// check returns an error if ctx has ended or a limit is refused.
func (s *Store) check(ctx context.Context, charges []limiter.Charge) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for i := range charges {
		if err := s.Check(charges[i].Limit); err != nil {
			return err
		}
	}
	return nil
}
