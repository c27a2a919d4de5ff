package kvstore

import "context"

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
	c.entered = true
	s.memory.enter(c, b.at, units)
	defer s.memory.land(c, units)
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
			c.held = max(0, current) // also if the addition fails: it may have been carried out
			if _, err := s.add(ctx, c, c.number, difference, b.at); err != nil {
				return err
			}
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
	if !s.direct { // else the caller waits
		// Its own deadline: that of the decision may be the reason.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), s.timeout)
		defer cancel()
	}
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

// release tells memory that b holds nothing any more that it might give back.
func (s *Store) release(b *batch) {
	for i := range b.counters {
		if c := &b.counters[i]; c.entered {
			c.entered = false
			s.memory.leave(c)
		}
	}
}

func (s *Store) add(ctx context.Context, c *counter, number, delta, at int64) (int64, error) {
	return s.kv.Add(ctx, windowKey(c.base, number), delta, s.timeToLive(c, at))
}
