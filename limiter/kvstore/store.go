package kvstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/storekit"
)

// Store is a [limiter.Store] over a [KV]. Make one with [New] and share it; it is safe for concurrent use and has
// nothing to close.
type Store struct {
	kv      KV
	timeout time.Duration
	skew    time.Duration
	clock   *storekit.Clock
	trips   *storekit.Trips
	breaker *storekit.Breaker
	cache   *storekit.DenyCache
	memory  *memory
	direct  bool
}

// Take is [limiter.Store]'s. Its errors are those of the KV, one that wraps [context.DeadlineExceeded] after
// Timeout, and a [*storekit.UnavailableError] while the KV is not asked because it failed or stalls. After an error
// units of the batch may stay spent only where the KV left open whether it added them, or could not give them back.
func (s *Store) Take(ctx context.Context, charges []limiter.Charge) (taken bool, err error) {
	if err := s.ready(ctx, charges); err != nil || len(charges) == 0 {
		return err == nil, err
	}
	before := s.clock.Now()
	if s.cache.Answer(charges, before) {
		return false, nil
	}
	b := newBatch(charges)
	err = s.trip(ctx, before, func(ctx context.Context) error { return s.decide(ctx, b) })
	if err != nil && b.claim() {
		s.cache.Forget(charges, s.clock.Now())
		return false, err
	}
	// Without an error, or just before it came, the trip has decided.
	b.answer(charges)
	if b.taken || b.certain {
		s.cache.Learn(charges, b.taken, before, s.clock.Now())
	}
	return b.taken, nil
}

// Reset is [limiter.Store]'s: one Add of -[math.MaxInt64] for each window that counts. After an error some counters
// may have been reset.
func (s *Store) Reset(ctx context.Context, charges []limiter.Charge) error {
	if err := s.ready(ctx, charges); err != nil || len(charges) == 0 {
		return err
	}
	before := s.clock.Now()
	b := newBatch(charges)
	err := s.trip(ctx, before, func(ctx context.Context) error { return s.reset(ctx, b) })
	after := s.clock.Now()
	for i := range charges {
		s.cache.Drop(&charges[i], after)
	}
	return err
}

// Check is [limiter.Checker]'s: it refuses limits that are invalid, and all but SlidingWindow and FixedWindow.
func (s *Store) Check(l limiter.Limit) error {
	if err := l.Validate(); err != nil {
		return err
	}
	if l.Algorithm != limiter.SlidingWindow && l.Algorithm != limiter.FixedWindow {
		return fmt.Errorf("kvstore: %v: %w", l.Algorithm, limiter.ErrUnsupported)
	}
	return nil
}

// Healthy is false while the KV has failed so often that it is not asked: until a decision has reached it again.
// Always true with Config.NoBreaker.
func (s *Store) Healthy() bool { return !s.breaker.Open() }

func (s *Store) ready(ctx context.Context, charges []limiter.Charge) error {
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

// trip runs f, which may outlive the caller, and tells the breaker how it went.
func (s *Store) trip(ctx context.Context, before time.Duration, f func(context.Context) error) error {
	permit, err := s.breaker.Begin(before)
	if err != nil {
		return err
	}
	if s.direct {
		err = s.trips.RunDirect(ctx, s.timeout, f)
	} else {
		err = s.trips.Run(ctx, s.timeout, f)
	}
	outcome := storekit.Failed
	switch {
	case err == nil, errors.Is(err, errOvertaken), errors.Is(err, ErrValue):
		outcome = storekit.Succeeded
	case ctx.Err() != nil, errors.Is(err, storekit.ErrBusy):
		outcome = storekit.Undecided
	}
	s.breaker.End(permit, s.clock.Now(), outcome)
	return err
}

func (s *Store) reset(ctx context.Context, b *batch) error {
	s.start(b)
	for i := range b.counters {
		c := &b.counters[i]
		first, last := c.number, c.number
		if c.sliding() || b.at-c.start() < millis(s.skew) {
			first-- // a slower clock may still count there
		}
		if s.late(c, b.at) {
			last++ // a faster clock already counts there
		}
		for number := first; number <= last; number++ {
			if _, err := s.kv.Add(ctx, windowKey(c.base, number), -math.MaxInt64, s.timeToLive(c, b.at)); err != nil {
				return err
			}
		}
		s.memory.forget(c)
	}
	return nil
}
