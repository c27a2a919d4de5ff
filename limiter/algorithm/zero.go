package algorithm

import "github.com/httplimit/httplimit/limiter"

// AsksZero reports whether a limit of 0 refuses one of the charges: one whose Cost is not negative and whose Mode is
// not Force. Neither a counter nor a clock is needed to say so: a store answers such a batch with [TakeZero] before it
// does anything else.
func AsksZero(charges []limiter.Charge) bool {
	for i := range charges {
		if refusedByZero(&charges[i]) {
			return true
		}
	}
	return false
}

// TakeZero decides a batch of which [AsksZero] is true, and returns what Take of the store returns. Each charge that a
// limit of 0 refuses gets RetryAfter [limiter.Never] and zero for all else, the State too.
//
// With an Enforce charge among them the batch is refused, and take is not called: charges on other limits are not
// judged, and all are Cached, as after an answer of a deny cache. Refunds in such a batch are not carried out, because
// a batch is spent whole or not at all.
//
// Without one, the other charges are a batch of their own, which take decides, the store's own Take as a rule. If there
// are none, the batch is taken.
//
// An invalid limit of 0 is an error.
func TakeZero(
	charges []limiter.Charge, take func(others []limiter.Charge) (taken bool, err error),
) (taken bool, err error) {
	refused, others := false, 0
	for i := range charges {
		c := &charges[i]
		if !refusedByZero(c) {
			others++
			continue
		}
		if err := c.Limit.Validate(); err != nil {
			return false, err
		}
		refuse(c)
		refused = refused || c.Mode == limiter.Enforce
	}
	switch {
	case refused:
		leaveUnjudged(charges)
		return false, nil
	case others == 0:
		return true, nil
	}
	return takeOthers(charges, others, take)
}

// refusedByZero reports whether the limit of c is 0 and refuses it.
func refusedByZero(c *limiter.Charge) bool {
	return c.Limit.Requests == 0 && c.Cost >= 0 && c.Mode != limiter.Force
}

// refuse answers a charge that a limit of 0 refuses.
func refuse(c *limiter.Charge) {
	c.State, c.Decision, c.Cached = limiter.State{}, limiter.Decision{RetryAfter: limiter.Never}, false
}

// leaveUnjudged fills in a batch that was refused without asking the counters of the others.
func leaveUnjudged(charges []limiter.Charge) {
	for i := range charges {
		c := &charges[i]
		c.Cached = true
		if !refusedByZero(c) {
			c.State, c.Decision = limiter.State{}, limiter.Decision{Allowed: true}
		}
	}
}

// takeOthers has take decide the charges that no limit of 0 refuses, so many.
func takeOthers(
	charges []limiter.Charge, others int, take func([]limiter.Charge) (bool, error),
) (taken bool, err error) {
	rest := make([]limiter.Charge, 0, others)
	for i := range charges {
		if !refusedByZero(&charges[i]) {
			rest = append(rest, charges[i])
		}
	}
	if taken, err = take(rest); err != nil {
		return false, err
	}
	cached := rest[0].Cached // of the whole batch
	for i := range charges {
		if c := &charges[i]; refusedByZero(c) {
			c.Cached = cached
		} else {
			charges[i], rest = rest[0], rest[1:]
		}
	}
	return taken, nil
}
