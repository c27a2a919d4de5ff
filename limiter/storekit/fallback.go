package storekit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// WithFallback returns a store that asks remote, and while remote cannot decide has local decide, in this process: what
// httplimit.FailLocal is for a rule, for those who use a [limiter.Limiter] or another caller of stores. Rules of
// httplimit need it not. local is usually a memstore, and is used for nothing else.
//
// instances is how many processes share remote; less than 1 means 1. local decides with this process's [Share] of each
// limit, and what it counts is not charged to remote later. Remaining, RetryAfter and ResetAfter are those of the share
// then, and [limiter.Charge].Local is set. StoreStats.Fallback tells operators how often that happens, since when and
// why.
//
// Every error of remote is an outage, but for those that local would not mend, which are returned: ctx has ended, the
// error wraps [limiter.ErrUnsupported], or a limit is invalid or one that remote's Check refuses. remote is asked every
// time: the stores of this project answer at once while their breaker is open; one of your own is wrapped by
// [WithTimeout] first, which also makes errors of its panics.
//
// Refunds go to the store that was charged: by Charge.Local, so hand back the charge as Take has filled it in.
//
//   - A charge of local is given back to local only, also when remote is back.
//   - A charge of remote is given back to remote only. While it is down the refund is lost, and its error returned.
//   - A refund without State.At, such as [limiter.Limiter.Refund] makes, takes back what local has counted of the key
//     and gives the rest to remote. While remote is down the rest is lost, and no error is returned.
//
// A refund without State.At that stands in a batch with charges goes to the store that decides the batch.
//
// Reset resets the counters of both, of local also if remote fails. The returned store is a [limiter.Checker] that asks
// both, and a [limiter.StatsReporter] with the stats of remote, as far as remote and local have such methods. It has a
// method Unwrap that returns remote. It is safe for concurrent use. Do not put one over another one.
func WithFallback(remote, local limiter.Store, instances int) limiter.Store {
	return &fallbackStore{remote: remote, local: local, instances: int64(max(1, instances))}
}

// Share returns one instance's part of a limit: the capacity (Requests, or the Burst of a TokenBucket) and the rate
// divided by instances, rounded up, and the capacity large enough for a cost that the whole limit has room for. The
// share of 0 is 0. instances must be at least 1.
func Share(l limiter.Limit, cost, instances int64) limiter.Limit {
	capacity := l.Capacity()
	if capacity == 0 {
		return l
	}
	part := (capacity-1)/instances + 1
	if cost <= capacity {
		part = max(part, cost)
	}
	if l.Algorithm == limiter.TokenBucket {
		l.Requests, l.Burst = (l.Requests-1)/instances+1, part
	} else {
		l.Requests = part
	}
	return l
}

// fallbackStore is a store that WithFallback returns.
type fallbackStore struct {
	remote, local limiter.Store
	instances     int64

	decided atomic.Uint64 // batches that local has decided
	failing atomic.Bool   // since is set
	mu      sync.Mutex
	since   time.Time // of the first failure after the last answer; zero: none
	cause   error     // that failure
}

var (
	_ limiter.Checker       = (*fallbackStore)(nil)
	_ limiter.StatsReporter = (*fallbackStore)(nil)
)

// Unwrap returns the remote store.
func (s *fallbackStore) Unwrap() limiter.Store { return s.remote }

// Take implements [limiter.Store].
func (s *fallbackStore) Take(ctx context.Context, charges []limiter.Charge) (taken bool, err error) {
	refunds := refundsIn(charges)
	switch {
	case refunds.any && refunds.only:
		return s.giveBack(ctx, charges)
	case refunds.local:
		taken, err = s.takeApart(ctx, charges)
	default:
		taken, err = s.remote.Take(ctx, charges)
	}
	var local *localError
	switch {
	case err == nil:
		s.answered()
		return taken, nil
	case errors.As(err, &local), refunds.remote, !s.isOutage(ctx, err, charges):
		return false, endedOr(ctx, err)
	}
	return s.takeLocally(ctx, charges, err)
}

// endedOr returns err, and if ctx has ended says so.
func endedOr(ctx context.Context, err error) error {
	if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) {
		return fmt.Errorf("%w: %w", ended, err)
	}
	return err
}

// localError is an error of local, which nobody stands in for.
type localError struct{ error }

func (e *localError) Unwrap() error { return e.error }

// isOutage reports whether local may decide what remote has answered with err.
func (s *fallbackStore) isOutage(ctx context.Context, err error, charges []limiter.Charge) bool {
	if ctx.Err() != nil || errors.Is(err, limiter.ErrUnsupported) {
		return false
	}
	return !slices.ContainsFunc(charges, func(c limiter.Charge) bool {
		return c.Limit.Validate() != nil || check(s.remote, c.Limit) != nil
	})
}

// takeLocally has local decide what remote could not, because of cause.
func (s *fallbackStore) takeLocally(ctx context.Context, charges []limiter.Charge, cause error) (bool, error) {
	batch := slices.Clone(charges)
	for i := range batch {
		c := &batch[i]
		c.Limit = Share(c.Limit, c.Cost, s.instances)
		if !c.Local {
			c.State = limiter.State{} // what a failed call has left in it is no refund's
		}
	}
	taken, err := s.local.Take(ctx, batch)
	if err != nil {
		return false, fmt.Errorf("storekit: the fallback failed: %w; it was asked because of: %w", err, cause)
	}
	for i := range charges {
		c := &charges[i]
		copyAnswer(c, &batch[i])
		c.Local = c.Local || c.Cost >= 0
	}
	s.failed(cause)
	return taken, nil
}

// copyAnswer copies what Take has filled in.
func copyAnswer(c, answered *limiter.Charge) {
	c.State, c.Decision, c.Cached, c.Shared = answered.State, answered.Decision, answered.Cached, answered.Shared
}

// Reset implements [limiter.Store].
func (s *fallbackStore) Reset(ctx context.Context, charges []limiter.Charge) error {
	return errors.Join(s.local.Reset(ctx, charges), s.remote.Reset(ctx, charges))
}

// Check implements [limiter.Checker].
func (s *fallbackStore) Check(l limiter.Limit) error {
	if err := check(s.remote, l); err != nil {
		return err
	}
	return check(s.local, l)
}

// check asks a store whether it can run l, if it is one to be asked.
func check(store limiter.Store, l limiter.Limit) error {
	if c, ok := store.(limiter.Checker); ok {
		return c.Check(l)
	}
	return nil
}

// Stats implements [limiter.StatsReporter].
func (s *fallbackStore) Stats() (stats limiter.StoreStats) {
	if r, ok := s.remote.(limiter.StatsReporter); ok {
		stats = r.Stats()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	stats.Fallback = &limiter.FallbackStats{Decided: s.decided.Load(), Since: s.since}
	if s.cause != nil {
		stats.Fallback.Cause = s.cause.Error()
	}
	return stats
}

// failed notes that local had to decide.
func (s *fallbackStore) failed(cause error) {
	s.decided.Add(1)
	if s.failing.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since.IsZero() {
		s.since, s.cause = time.Now(), cause
		s.failing.Store(true)
	}
}

// answered notes that remote has decided.
func (s *fallbackStore) answered() {
	if !s.failing.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since, s.cause = time.Time{}, nil
	s.failing.Store(false)
}
