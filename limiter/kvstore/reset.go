package kvstore

import (
	"context"
	"math"

	"github.com/httplimit/httplimit/limiter"
)

// Reset is [limiter.Store]'s: one Add of -[math.MaxInt64] for each window that counts. After an error some counters
// may have been reset.
func (s *Store) Reset(ctx context.Context, charges []limiter.Charge) error {
	if err := s.check(ctx, charges); err != nil || len(charges) == 0 {
		return err
	}
	j := s.newBatch(charges).alone()
	err := s.call(ctx, func(ctx context.Context) (err error) {
		err = errExited
		defer func() { err = safe(recovered(err, recover()), j.counters) }()
		return s.reset(ctx, j)
	})
	after := s.clock.Now()
	for i := range charges {
		s.refusals.Drop(&charges[i], after)
	}
	return err
}

func (s *Store) reset(ctx context.Context, j *joint) error {
	s.start(j)
	for i := range j.counters {
		c := &j.counters[i]
		first, last := c.number, c.number
		if c.sliding() || j.at-c.start() < millis(s.skew) {
			first-- // a process with a slower clock may still count there
		}
		if s.nextMayCount(c, j.at) {
			last++
		}
		for number := first; number <= last; number++ {
			if _, err := s.add(ctx, c, number, -math.MaxInt64, j.at); err != nil {
				return err
			}
		}
		s.counts.drop(c)
	}
	return nil
}
