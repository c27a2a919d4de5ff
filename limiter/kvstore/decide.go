package kvstore

import (
	"context"
	"errors"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// attempts bounds how often a joint is tried when others are faster. With one unit a charge every attempt admits one
// of the callers that race, so one that loses this often is one of many for the last unit.
const attempts = 3

// errRaced is for a batch with shadow charges that fitted differently at each attempt.
var errRaced = errors.New("kvstore: the counters changed faster than the batch could be decided")

// decide judges the batches of j, spends each of them or nothing, and answers them. However it ends, also by a panic of
// the KV, it subtracts the units that no batch keeps. After an error none is answered.
func (s *Store) decide(ctx context.Context, j *joint) error {
	kept := false
	defer s.retract(j)
	defer func() {
		if !kept {
			s.compensate(ctx, j)
		}
	}()
	for attempt := range attempts {
		if attempt > 0 && s.isLate(ctx) {
			break
		}
		s.start(j)
		// After an attempt that lost to others the cached counts are too old: only counts that are read decide.
		if attempt > 0 || !s.fitsCached(j) {
			if err := s.read(ctx, j); err != nil {
				return err
			}
			taken := j.judge()
			s.conclude(j, attempt)
			if !taken {
				break
			}
		}
		won, err := s.reserve(ctx, j)
		if err != nil {
			return err
		}
		if won {
			if err := s.adjust(ctx, j); err != nil {
				return err
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			kept = true
			s.reply(ctx, j)
			return nil
		}
		s.compensate(ctx, j)
		s.retract(j)
	}
	for _, b := range j.batches {
		if b.taken {
			b.err = errRaced
		}
		b.reply()
	}
	return nil
}

// isLate reports whether half of the time is over: another attempt might not end in the rest.
func (s *Store) isLate(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) < s.timeout/2
}

// reply answers the batches of j, which have what they spend. What those have spent whose callers have left meanwhile
// is subtracted.
func (s *Store) reply(ctx context.Context, j *joint) {
	for i := range j.counters {
		j.counters[i].reserved = 0
	}
	left := false
	for _, b := range j.batches {
		if b.taken && !b.reply() {
			left = true
			for i, in := range b.in {
				j.counters[in].reserved += max(0, b.units[i])
			}
		}
	}
	if left {
		j.doubt()
	}
	for _, b := range j.batches {
		if !b.answered {
			b.reply()
		}
	}
	if left {
		s.compensate(ctx, j)
	}
}

// start sets the moment of the decision, and clears the counts.
func (s *Store) start(j *joint) {
	j.at = s.clock.UnixMilli(s.clock.Now())
	for i := range j.counters {
		c := &j.counters[i]
		c.number = j.at / c.limit.Window.Milliseconds()
		c.current, c.previous, c.next = 0, 0, 0
		c.previousFinal = j.at-c.start() >= millis(s.skew+s.timeout)
	}
}

// fitsCached judges j on the cached counts, and reports whether it may be added without reading first: every charge
// fits even if all callers of this process that are adding succeed, and every counter is added to, and so verified.
//
// Without those callers a hot key with a low limit would be kept above it by callers that add in vain.
func (s *Store) fitsCached(j *joint) bool {
	for i := range j.counters {
		if !s.counts.load(&j.counters[i]) {
			return false
		}
	}
	if !j.judge() || !j.allFit() {
		return false
	}
	for i := range j.counters {
		if c := &j.counters[i]; c.change() <= 0 || c.changePrevious() != 0 {
			return false
		}
	}
	return true
}

// conclude notes for each batch of j that is refused whether the refusal stands until its RetryAfter.
func (s *Store) conclude(j *joint, attempt int) {
	for _, b := range j.batches {
		b.conclusive = !b.taken && attempt == 0 && s.isConclusive(j, b)
	}
}

// isConclusive reports whether the counts that refuse b hold no units that this or another process may be about to
// subtract.
func (s *Store) isConclusive(j *joint, b *batch) bool {
	for i := range b.charges {
		if c := &b.charges[i]; c.Allowed || c.Mode != limiter.Enforce {
			continue
		}
		adding, since := s.counts.stability(&j.counters[b.in[b.of[i]]])
		stable := j.at-since >= millis(s.timeout) // no batch takes longer to compensate
		if adding || !stable && !j.withinLimit(b, i) {
			return false
		}
	}
	return true
}
