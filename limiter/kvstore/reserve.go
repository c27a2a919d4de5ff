package kvstore

import "context"

// reserve adds the units that j spends, and verifies that they still fit. If others were faster, it judges anew: the
// batches that still fit are spent, and adjust subtracts what the others have added. It returns false if none fits any
// more, or more than was added would be spent; then the caller compensates.
func (s *Store) reserve(ctx context.Context, j *joint) (won bool, err error) {
	currentChanged, err := s.addUnits(ctx, j)
	if err != nil {
		return false, err
	}
	neighboursChanged, err := s.readNeighbours(ctx, j)
	if err != nil {
		return false, err
	}
	if !currentChanged && !neighboursChanged {
		return true, nil
	}
	j.doubt()
	return j.judgeTaken() && j.covered(), nil
}

// addUnits adds the units of j to each of its counters, and reports whether others have changed one since its count was
// read or cached.
func (s *Store) addUnits(ctx context.Context, j *joint) (changed bool, err error) {
	if err := s.each(ctx, j, (*Store).addTo); err != nil {
		return false, err
	}
	for i := range j.counters {
		changed = changed || j.counters[i].changed
	}
	return changed, nil
}

// addTo adds the units of j to c. The sum shows how many others have spent.
func (s *Store) addTo(ctx context.Context, j *joint, c *counter) error {
	units, before := c.change(), c.current
	if c.changed = false; units <= 0 {
		return nil
	}
	c.announced = true
	s.counts.announce(c, j.at, units)
	defer s.counts.endAdd(c, units)
	sum, err := s.add(ctx, c, c.number, units, j.at)
	if err != nil {
		s.spentUnderError.Add(uint64(units))
		return err
	}
	c.reserved = units
	c.current = sum - units
	c.changed = c.current != before
	s.counts.storeCurrent(c, j.at, sum)
	return nil
}

// adjust changes the KV from what j has reserved to what it comes to: it carries out refunds, and subtracts the units
// of charges that no longer fit.
func (s *Store) adjust(ctx context.Context, j *joint) error {
	return s.each(ctx, j, (*Store).adjustOne)
}

func (s *Store) adjustOne(ctx context.Context, j *joint, c *counter) error {
	current, previous := c.change(), c.changePrevious()
	if difference := current - c.reserved; difference < 0 {
		surplus := c.reserved - max(0, current)
		c.reserved = max(0, current) // also if the subtraction fails: it may have been carried out
		if _, err := s.add(ctx, c, c.number, difference, j.at); err != nil {
			s.spentUnderError.Add(uint64(surplus))
			return err
		}
		s.counts.drop(c)
	}
	if previous < 0 {
		if _, err := s.add(ctx, c, c.number-1, previous, j.at); err != nil {
			return err
		}
		s.counts.drop(c)
	}
	return nil
}

// compensate subtracts the units that j has reserved. Where that fails they stay spent until their window has passed:
// a second try could subtract units that others have spent.
func (s *Store) compensate(ctx context.Context, j *joint) {
	if !j.reserves() {
		return
	}
	if !s.direct { // else the caller waits
		// A deadline of its own: that of the decision may be over.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), s.timeout)
		defer cancel()
	}
	s.each(ctx, j, (*Store).compensateOne)
}

func (s *Store) compensateOne(ctx context.Context, j *joint, c *counter) error {
	units := c.reserved
	if units == 0 {
		return nil
	}
	c.reserved = 0
	if sum, err := s.add(ctx, c, c.number, -units, j.at); err == nil {
		s.counts.storeCurrent(c, j.at, sum)
	} else {
		s.spentUnderError.Add(uint64(units))
	}
	return nil
}

// retract reports to cachedCounts that j will not compensate any more.
func (s *Store) retract(j *joint) {
	for i := range j.counters {
		if c := &j.counters[i]; c.announced {
			c.announced = false
			s.counts.retract(c)
		}
	}
}

func (s *Store) add(ctx context.Context, c *counter, number, delta, at int64) (int64, error) {
	return s.kv.Add(ctx, windowKey(c.base, number), delta, s.timeToLive(c, at))
}
