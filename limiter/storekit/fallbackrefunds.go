package storekit

import (
	"context"
	"math"

	"github.com/httplimit/httplimit/limiter"
)

// refunds says what kinds of refunds a batch holds.
type refunds struct {
	any, only     bool // some, nothing else
	local, remote bool // some of charges that local, that remote has taken
}

// refundsIn looks a batch through, and takes back what an earlier Take has said of its charges.
func refundsIn(charges []limiter.Charge) refunds {
	r := refunds{only: true}
	for i := range charges {
		c := &charges[i]
		if c.Cost >= 0 {
			r.only, c.Local = false, false
			continue
		}
		r.any = true
		r.local = r.local || c.Local
		r.remote = r.remote || ofRemote(c)
	}
	return r
}

// ofRemote reports whether a refund is known to be of units that remote has taken.
func ofRemote(refund *limiter.Charge) bool { return !refund.Local && refund.At != 0 }

// takeApart has remote decide a batch without the refunds of what local has taken. Those are made in local, once the
// batch is spent.
func (s *fallbackStore) takeApart(ctx context.Context, charges []limiter.Charge) (bool, error) {
	here, there := s.split(charges, func(c *limiter.Charge) bool { return c.Local })
	taken, err := s.remote.Take(ctx, there.charges)
	if err != nil {
		return false, err
	}
	there.answer(charges)
	if !taken {
		for _, i := range here.at {
			charges[i].Decision = limiter.Decision{Allowed: true}
		}
		return false, nil
	}
	if _, err := s.local.Take(ctx, here.charges); err != nil {
		return false, &localError{err}
	}
	here.answer(charges)
	return true, nil
}

// giveBack makes refunds that stand in a batch of their own: in local, what may have been charged there, and then in
// remote what was charged there and what local lacks.
func (s *fallbackStore) giveBack(ctx context.Context, charges []limiter.Charge) (bool, error) {
	here, there := s.split(charges, func(c *limiter.Charge) bool { return !ofRemote(c) })
	sure := len(there.at) > 0 // units that remote has taken
	if len(here.at) > 0 {
		if _, err := s.local.Take(ctx, here.charges); err != nil {
			return false, err
		}
		there = here.lacking(charges)
		here.answer(charges)
	}
	if len(there.at) == 0 {
		return true, nil
	}
	_, err := s.remote.Take(ctx, there.charges)
	switch {
	case err == nil:
		s.answered()
		there.answer(charges)
	case sure || !s.isOutage(ctx, err, there.charges):
		return false, endedOr(ctx, err)
	}
	return true, nil
}

// lacking returns what is left to give back of a batch, in its order, after p is what local was asked.
func (p *part) lacking(batch []limiter.Charge) (rest part) {
	asked := p.charges
	for i, c := range batch {
		if ofRemote(&c) {
			rest.add(i, c)
			continue
		}
		held := min(asked[0].Current+asked[0].Previous, limiter.MaxCount)
		asked = asked[1:]
		if c.Cost = max(c.Cost, -math.MaxInt64) + held; c.Cost < 0 && !c.Local {
			rest.add(i, c)
		}
	}
	return rest
}

// part is some of the charges of a batch.
type part struct {
	at      []int // where they stand in it
	charges []limiter.Charge
}

func (p *part) add(i int, c limiter.Charge) {
	p.at, p.charges = append(p.at, i), append(p.charges, c)
}

// answer copies what Take has filled in to the batch.
func (p *part) answer(batch []limiter.Charge) {
	for j, i := range p.at {
		copyAnswer(&batch[i], &p.charges[j])
	}
}

// split copies the charges that local is to see, with its share of their limits, and the others.
func (s *fallbackStore) split(charges []limiter.Charge, isLocal func(*limiter.Charge) bool) (here, there part) {
	for i, c := range charges {
		if isLocal(&c) {
			c.Limit = Share(c.Limit, c.Cost, s.instances)
			here.add(i, c)
		} else {
			there.add(i, c)
		}
	}
	return here, there
}
