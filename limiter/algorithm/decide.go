package algorithm

import "github.com/httplimit/httplimit/limiter"

// Decide judges a batch as [limiter.Store].Take describes it and fills in the charges' States and Decisions. counters are
// what the counters of the batch hold, each once, and of[i] is the place in counters of that of charges[i].
//
// If the batch was taken, each counter's Spent and Returned tell what changed, and Current, Previous and Debt are
// what is left of what it held before (so Current + Spent is what it holds now). If it was refused, they are as
// they were and Spent and Returned are 0.
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
		counters[of[i]].undo(&charges[i].Limit)
	}
	for i := range charges {
		c, u := &charges[i], &counters[of[i]]
		c.At, c.Current, c.Previous = u.At, u.used(&c.Limit), u.Previous
		c.Remaining = max(0, u.room(&c.Limit, 0))
		c.ResetAfter = u.resetAfter(&c.Limit, 0)
	}
	return false
}

// Judge decides one charge on top of what the batch has already spent from u, fills in the charge, and spends it if its
// Mode says so. It is all that a batch of one charge needs: the batch is taken if the charge fits or is not an Enforce
// charge, and a charge that does not fit leaves u as it was.
func (u *Usage) Judge(c *limiter.Charge) (fits bool) {
	l := &c.Limit
	before, refundAt := u.Spent, c.At
	// Field by field: copying the whole struct right after these writes would stall on store forwarding.
	c.At, c.Current, c.Previous = u.At, u.used(l)+before, u.Previous
	room := u.room(l, before)
	fits = c.Cost <= room || c.Cost < 0 || c.Mode == limiter.Force
	c.Allowed, c.RetryAfter, c.Cached = fits, 0, false
	switch {
	case !fits:
		// The units that the batch wants before this charge are part of what a second try would have to fit.
		c.RetryAfter = u.retryAfter(l, saturate(before, c.Cost))
	case c.Mode == limiter.Peek || c.Cost == 0:
	case c.Cost > 0:
		u.Spent = min(saturate(before, c.Cost), limiter.MaxCount-u.Current)
		room -= u.Spent - before
	default:
		u.refund(l, max(c.Cost, -limiter.MaxCount), refundAt)
		room = u.room(l, u.Spent)
	}
	c.Remaining = max(0, room)
	c.ResetAfter = u.resetAfter(l, u.Spent)
	return fits
}
