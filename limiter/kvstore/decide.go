package kvstore

import (
	"context"
	"errors"
	"fmt"
	"time"

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
	defer func() {
		if !kept {
			s.giveBack(ctx, b)
		}
	}()
	for attempt := range attempts {
		s.start(b)
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

// reserve adds what b spends and verifies it. It returns false if others were faster.
func (s *Store) reserve(ctx context.Context, b *batch) (won bool, err error) {
	moved := false
	for i := range b.counters {
		units, _ := b.change(i)
		if units <= 0 {
			continue
		}
		c := &b.counters[i]
		known := c.current
		if err := s.hold(ctx, b, c, units); err != nil {
			return false, err
		}
		moved = moved || c.current != known
	}
	beside, err := s.readBeside(ctx, b)
	if err != nil {
		return false, err
	}
	if !moved && !beside {
		return true, nil
	}
	return b.judge() && b.covered(), nil
}

// hold adds units of c, and learns what others have spent.
func (s *Store) hold(ctx context.Context, b *batch, c *counter, units int64) error {
	s.memory.enter(c, b.at, units)
	defer s.memory.leave(c, units)
	sum, err := s.add(ctx, c, c.number, units, b.at)
	if err != nil {
		return err
	}
	c.held = units
	c.current = sum - units
	s.memory.added(c, b.at, sum)
	return nil
}

// readBeside reads the windows beside those that were added to, where clocks that differ and trips that take long
// let others count at the same moment. Both sides add first and read then, so that one of them sees the other.
func (s *Store) readBeside(ctx context.Context, b *batch) (moved bool, err error) {
	now := s.clock.UnixMilli(s.clock.Now())
	var q query
	for i := range b.counters {
		c := &b.counters[i]
		if c.held == 0 || !c.sliding() {
			continue
		}
		if !c.settled {
			q.ask(c, c.number-1, &c.previous)
		}
		if s.late(c, now) {
			q.ask(c, c.number+1, &c.next)
		}
	}
	return q.run(ctx, s.kv)
}

// covered tells whether b, judged anew, spends no more than it holds.
func (b *batch) covered() bool {
	for i := range b.counters {
		if current, _ := b.change(i); current > b.counters[i].held {
			return false
		}
	}
	return true
}

// settle makes the KV hold what b comes to: it carries out refunds, and gives back what was held for observed
// charges that no longer fit.
func (s *Store) settle(ctx context.Context, b *batch) error {
	for i := range b.counters {
		c := &b.counters[i]
		current, previous := b.change(i)
		if difference := current - c.held; difference < 0 {
			if _, err := s.add(ctx, c, c.number, difference, b.at); err != nil {
				return err
			}
			c.held = max(0, current)
			s.memory.forget(c)
		}
		if previous < 0 {
			if _, err := s.add(ctx, c, c.number-1, previous, b.at); err != nil {
				return err
			}
			s.memory.forget(c)
		}
	}
	return nil
}

// giveBack takes out of the KV what b holds. Where that fails the units stay spent until their window is over: to
// try again could take what others have spent.
func (s *Store) giveBack(ctx context.Context, b *batch) {
	// Its own deadline: the caller's may be the reason.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.timeout)
	defer cancel()
	for i := range b.counters {
		c := &b.counters[i]
		units := c.held
		if units == 0 {
			continue
		}
		c.held = 0
		if sum, err := s.add(ctx, c, c.number, -units, b.at); err == nil {
			s.memory.added(c, b.at, sum)
		}
	}
}

func (s *Store) add(ctx context.Context, c *counter, number, delta, at int64) (int64, error) {
	return s.kv.Add(ctx, windowKey(c.base, number), delta, s.timeToLive(c, at))
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

// late tells whether the window is so near its end, or past it, that faster clocks may be in the next one.
func (s *Store) late(c *counter, now int64) bool {
	return c.end()-now <= millis(s.skew)
}

// timeToLive is until the window of c counts on no clock any more.
func (s *Store) timeToLive(c *counter, at int64) time.Duration {
	end := c.end()
	if c.sliding() {
		end += c.limit.WindowMillis()
	}
	return time.Duration(end-at)*time.Millisecond + s.skew + s.timeout
}

// query collects keys to be read in one call.
type query struct {
	keys []string
	into []*int64
}

func (q *query) ask(c *counter, number int64, into *int64) {
	q.keys = append(q.keys, windowKey(c.base, number))
	q.into = append(q.into, into)
}

// run reads the counts and tells whether one of them is not what was there.
func (q *query) run(ctx context.Context, kv KV) (moved bool, err error) {
	if len(q.keys) == 0 {
		return false, nil
	}
	counts, err := kv.Get(ctx, q.keys...)
	if err != nil {
		return false, err
	}
	if len(counts) != len(q.keys) {
		return false, fmt.Errorf("kvstore: the KV's Get of %d keys returned %d counts", len(q.keys), len(counts))
	}
	for i, count := range counts {
		moved = moved || *q.into[i] != count
		*q.into[i] = count
	}
	return moved, nil
}

// millis rounds up.
func millis(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}
