package algorithm

import "github.com/httplimit/httplimit/limiter"

// Decide judges a batch as [limiter.Store].Take describes it, and fills in the State and the Decision of each charge.
// counters are the counters of the batch, each of them once; counters[of[i]] is that of charges[i].
//
// If the batch is taken, Spent and Returned of each counter are what has changed, and Current, Previous and Debt are
// what is left of what it held before: it now holds Current + Spent units. If the batch is refused, these fields are
// as they were, and Spent and Returned are 0.
//
// Charges that a limit of 0 refuses are answered as [TakeZero] does, and do not change their counters.
func Decide(charges []limiter.Charge, counters []Usage, of []int) (taken bool) {
	taken = true
	for i := range charges {
		if fits := counters[of[i]].Judge(&charges[i]); !fits && charges[i].Mode == limiter.Enforce {
			taken = false
		}
	}
	if taken {
		return true
	}
	for i := range charges {
		counters[of[i]].rollBack(&charges[i].Limit)
	}
	for i := range charges {
		c, u := &charges[i], &counters[of[i]]
		if refusedByZero(c) {
			continue
		}
		c.At, c.Current, c.Previous = u.At, u.used(&c.Limit), u.Previous
		c.Remaining = max(0, u.remaining(&c.Limit, 0))
		c.ResetAfter = u.resetAfter(&c.Limit, 0)
	}
	return false
}

// Judge decides one charge on top of what its batch has already spent from u, and fills in the charge. It spends the
// charge if that fits and its Mode is not Peek, and reports whether it fits.
//
// A batch of one charge needs no more than Judge: it is taken if the charge fits or its Mode is not Enforce. A charge
// that does not fit leaves u as it was.
func (u *Usage) Judge(c *limiter.Charge) (fits bool) {
	if refusedByZero(c) {
		refuse(c)
		return false
	}
	l := &c.Limit
	before, refundAt := u.Spent, c.At
	// Field by field: copying the whole struct right after these writes would be a store-forwarding stall.
	c.At, c.Current, c.Previous = u.At, u.used(l)+before, u.Previous
	remaining := u.remaining(l, before)
	fits = c.Cost <= remaining || c.Cost < 0 || c.Mode == limiter.Force
	c.Allowed, c.RetryAfter, c.Cached = fits, 0, false
	switch {
	case !fits:
		// A second try has to fit together with the units that the batch spends before this charge.
		c.RetryAfter = u.retryAfter(l, addSaturating(before, c.Cost))
	case c.Mode == limiter.Peek || c.Cost == 0:
	case c.Cost > 0:
		u.Spent = min(addSaturating(before, c.Cost), limiter.MaxCount-u.Current)
		remaining -= u.Spent - before
	default:
		u.refund(l, -max(c.Cost, -limiter.MaxCount), refundAt)
		remaining = u.remaining(l, u.Spent)
	}
	c.Remaining = max(0, remaining)
	c.ResetAfter = u.resetAfter(l, u.Spent)
	return fits
}
