package kvstore

import "context"

// reserve adds the units that b spends, and verifies that b still fits. It returns false if others were faster; then
// the caller compensates.
func (s *Store) reserve(ctx context.Context, b *batch) (won bool, err error) {
	currentChanged, err := s.addUnits(ctx, b)
	if err != nil {
		return false, err
	}
	neighboursChanged, err := s.readNeighbours(ctx, b)
	if err != nil {
		return false, err
	}
	if !currentChanged && !neighboursChanged {
		return true, nil
	}
	return b.judge() && b.covered(), nil
}

// addUnits adds the units of b to each of its counters, and reports whether others have changed one since its count
// was read or cached.
func (s *Store) addUnits(ctx context.Context, b *batch) (changed bool, err error) {
	for i := range b.counters {
		units, _ := b.change(i)
		if units <= 0 {
			continue
		}
		c := &b.counters[i]
		before := c.current
		if err := s.addTo(ctx, b, c, units); err != nil {
			return false, err
		}
		changed = changed || c.current != before
	}
	return changed, nil
}

// addTo adds units to c. The sum shows how many others have spent.
func (s *Store) addTo(ctx context.Context, b *batch, c *counter, units int64) error {
	c.announced = true
	s.counts.announce(c, b.at, units)
	defer s.counts.endAdd(c, units)
	sum, err := s.add(ctx, c, c.number, units, b.at)
	if err != nil {
		return err
	}
	c.reserved = units
	c.current = sum - units
	s.counts.storeCurrent(c, b.at, sum)
	return nil
}

// adjust changes the KV from what b has reserved to what b comes to: it carries out refunds, and subtracts the units
// of shadow charges that no longer fit.
func (s *Store) adjust(ctx context.Context, b *batch) error {
	for i := range b.counters {
		c := &b.counters[i]
		current, previous := b.change(i)
		if difference := current - c.reserved; difference < 0 {
			c.reserved = max(0, current) // also if the subtraction fails: it may have been carried out
			if _, err := s.add(ctx, c, c.number, difference, b.at); err != nil {
				return err
			}
			s.counts.drop(c)
		}
		if previous < 0 {
			if _, err := s.add(ctx, c, c.number-1, previous, b.at); err != nil {
				return err
			}
			s.counts.drop(c)
		}
	}
	return nil
}

// compensate subtracts the units that b has reserved. Where that fails they stay spent until their window has passed:
// a second try could subtract units that others have spent.
func (s *Store) compensate(ctx context.Context, b *batch) {
	if !s.direct { // else the caller waits
		// A deadline of its own: that of the decision may be over.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), s.timeout)
		defer cancel()
	}
	for i := range b.counters {
		c := &b.counters[i]
		units := c.reserved
		if units == 0 {
			continue
		}
		c.reserved = 0
		if sum, err := s.add(ctx, c, c.number, -units, b.at); err == nil {
			s.counts.storeCurrent(c, b.at, sum)
		}
	}
}

// retract reports to cachedCounts that b will not compensate any more.
func (s *Store) retract(b *batch) {
	for i := range b.counters {
		if c := &b.counters[i]; c.announced {
			c.announced = false
			s.counts.retract(c)
		}
	}
}

func (s *Store) add(ctx context.Context, c *counter, number, delta, at int64) (int64, error) {
	return s.kv.Add(ctx, windowKey(c.base, number), delta, s.timeToLive(c, at))
}
