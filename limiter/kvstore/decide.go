package kvstore

import (
	"context"
	"errors"

	"github.com/httplimit/httplimit/limiter"
)

// attempts bounds how often a batch that others keep overtaking is tried. With one unit a charge every attempt
// lets somebody in, so a batch that loses this often is one of many for the last unit.
const attempts = 3

// errOvertaken is for a batch with observed charges that fitted anew, and differently, at each attempt.
var errOvertaken = errors.New("kvstore: the counters changed faster than the batch could be decided")

// decide judges b and spends it or nothing. Whatever way it ends, also by a panic of the KV, what is not to be kept
// is given back.
func (s *Store) decide(ctx context.Context, b *batch) error {
	kept := false
	defer s.release(b)
	defer func() {
		if !kept {
			s.giveBack(ctx, b)
		}
	}()
	for attempt := range attempts {
		s.start(b)
		// What memory held has been overtaken once: from then on only what is read decides.
		if attempt > 0 || !s.guess(b) {
			if err := s.read(ctx, b); err != nil {
				return err
			}
			if !b.judge() {
				b.certain = attempt == 0 && s.certain(b)
				break
			}
		}
		won, err := s.reserve(ctx, b)
		if err != nil {
			return err
		}
		if won {
			if err := s.settle(ctx, b); err != nil {
				return err
			}
			kept = ctx.Err() == nil && b.claim()
			return ctx.Err()
		}
		s.giveBack(ctx, b)
		s.release(b)
	}
	if b.taken {
		return errOvertaken
	}
	b.claim()
	return nil
}

// start sets the moment of the decision.
func (s *Store) start(b *batch) {
	b.at = s.clock.UnixMilli(s.clock.Now())
	for i := range b.counters {
		c := &b.counters[i]
		c.hash = s.memory.hash(c.base)
		c.number = b.at / c.limit.WindowMillis()
		c.current, c.previous, c.next = 0, 0, 0
		c.settled = b.at-c.start() >= millis(s.skew+s.timeout)
	}
}

// guess judges b on what memory holds, and tells whether that is enough to add without reading first: all charges
// fit beside all callers under way, and every counter is added to and so verified.
//
// Without the look at callers under way a hot key with a low limit would be held above it by those who add in vain.
func (s *Store) guess(b *batch) bool {
	for i := range b.counters {
		if !s.memory.recall(&b.counters[i]) {
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

// read asks the KV for all counts of b.
func (s *Store) read(ctx context.Context, b *batch) error {
	var q query
	for i := range b.counters {
		c := &b.counters[i]
		q.ask(c, c.number, &c.current)
		if !c.sliding() {
			continue
		}
		q.ask(c, c.number-1, &c.previous)
		if s.late(c, b.at) {
			q.ask(c, c.number+1, &c.next)
		}
	}
	if _, err := q.run(ctx, s.kv); err != nil {
		return err
	}
	for i := range b.counters {
		s.memory.saw(&b.counters[i], b.at)
	}
	return nil
}

// certain tells whether a refusal will stand until its RetryAfter: its counts hold nothing that this or another
// process may be about to give back.
func (s *Store) certain(b *batch) bool {
	for i := range b.charges {
		if c := &b.charges[i]; c.Allowed || c.Mode != limiter.Enforce {
			continue
		}
		busy, since := s.memory.standing(&b.counters[b.of[i]])
		stands := b.at-since >= millis(s.timeout) // nobody takes longer to give back
		if busy || !stands && !b.withinLimit(i) {
			return false
		}
	}
	return true
}
