package kvstore

import (
	"context"
	"errors"

	"github.com/httplimit/httplimit/limiter"
)

// attempts bounds how often a batch is tried when others are faster. With one unit a charge every attempt admits one
// of the callers that race, so a batch that loses this often is one of many for the last unit.
const attempts = 3

// errRaced is for a batch with shadow charges that fitted differently at each attempt.
var errRaced = errors.New("kvstore: the counters changed faster than the batch could be decided")

// decide judges b, and spends it or nothing. However it ends, also by a panic of the KV, it subtracts the units that
// the batch does not keep.
func (s *Store) decide(ctx context.Context, b *batch) error {
	kept := false
	defer s.retract(b)
	defer func() {
		if !kept {
			s.compensate(ctx, b)
		}
	}()
	for attempt := range attempts {
		s.start(b)
		// After an attempt that lost to others the cached counts are too old: only counts that are read decide.
		if attempt > 0 || !s.fitsCached(b) {
			if err := s.read(ctx, b); err != nil {
				return err
			}
			if !b.judge() {
				b.conclusive = attempt == 0 && s.isConclusive(b)
				break
			}
		}
		won, err := s.reserve(ctx, b)
		if err != nil {
			return err
		}
		if won {
			if err := s.adjust(ctx, b); err != nil {
				return err
			}
			kept = ctx.Err() == nil && b.claim()
			return ctx.Err()
		}
		s.compensate(ctx, b)
		s.retract(b)
	}
	if b.taken {
		return errRaced
	}
	b.claim()
	return nil
}

// start sets the moment of the decision, and clears the counts.
func (s *Store) start(b *batch) {
	b.at = s.clock.UnixMilli(s.clock.Now())
	for i := range b.counters {
		c := &b.counters[i]
		c.hash = s.counts.hash(c.base)
		c.number = b.at / c.limit.Window.Milliseconds()
		c.current, c.previous, c.next = 0, 0, 0
		c.previousFinal = b.at-c.start() >= millis(s.skew+s.timeout)
	}
}

// fitsCached judges b on the cached counts, and reports whether b may be added without reading first: every charge
// fits even if all callers of this process that are adding succeed, and every counter is added to, and so verified.
//
// Without those callers a hot key with a low limit would be kept above it by callers that add in vain.
func (s *Store) fitsCached(b *batch) bool {
	for i := range b.counters {
		if !s.counts.load(&b.counters[i]) {
			return false
		}
	}
	if !b.judge() || !b.allFit() {
		return false
	}
	for i := range b.counters {
		if current, previous := b.change(i); current <= 0 || previous != 0 {
			return false
		}
	}
	return true
}

// isConclusive reports whether a refusal stands until its RetryAfter: its counts hold no units that this or another
// process may be about to subtract.
func (s *Store) isConclusive(b *batch) bool {
	for i := range b.charges {
		if c := &b.charges[i]; c.Allowed || c.Mode != limiter.Enforce {
			continue
		}
		adding, since := s.counts.stability(&b.counters[b.of[i]])
		stable := b.at-since >= millis(s.timeout) // no batch takes longer to compensate
		if adding || !stable && !b.withinLimit(i) {
			return false
		}
	}
	return true
}
