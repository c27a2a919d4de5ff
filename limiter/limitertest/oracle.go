package limitertest

import (
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// oracle answers batches by the definitions, slowly: it keeps every unit that was spent, calculates only whether n more
// units fit at some moment, and finds everything else by search. It shares no arithmetic with package algorithm.
type oracle map[counter]*history

// counter is the identity of a counter.
type counter struct {
	scope, key string
	algorithm  limiter.Algorithm
	window     time.Duration
}

func counterOf(c *limiter.Charge) counter {
	return counter{c.Scope, c.Key, c.Limit.Algorithm, c.Limit.Window}
}

// pendingCounter is a counter while a batch is judged on it.
type pendingCounter struct {
	held     *history // what it held before, less what the batch refunds
	spent    int64    // what the batch adds
	refunded bool     // some of what it held was refunded
	limit    limiter.Limit
	at       int64
}

// take decides each charge at its moment, fills in its State and Decision, and spends the batch or nothing.
func (o oracle) take(charges []limiter.Charge, moments []int64) (taken bool) {
	pending := map[counter]*pendingCounter{}
	taken = true
	for i := range charges {
		c := &charges[i]
		if refusedByZero(c) {
			c.State, c.Decision = limiter.State{}, limiter.Decision{RetryAfter: limiter.Never}
			taken = taken && c.Mode != limiter.Enforce
			continue
		}
		id := counterOf(c)
		p := pending[id]
		if p == nil {
			p = &pendingCounter{held: o.held(id).clone()}
			pending[id] = p
		}
		p.limit, p.at = c.Limit, moments[i]
		if !p.judge(c) && c.Mode == limiter.Enforce {
			taken = false
		}
	}
	if !taken {
		for i := range charges {
			c := &charges[i]
			if refusedByZero(c) {
				continue
			}
			untouched := pendingCounter{held: o.held(counterOf(c)), limit: c.Limit, at: moments[i]}
			untouched.describe(c)
			c.State = untouched.state()
		}
		return false
	}
	for id, p := range pending {
		if p.spent != 0 || p.refunded { // a Peek does not change the rate of a bucket
			o[id] = p.after()
		}
	}
	return true
}

// refusedByZero reports whether c asks for something of a limit of 0, which admits nothing.
func refusedByZero(c *limiter.Charge) bool {
	return c.Limit.Requests == 0 && c.Cost >= 0 && c.Mode != limiter.Force
}

func (o oracle) held(id counter) *history {
	if h := o[id]; h != nil {
		return h
	}
	return &history{}
}

// hugeCost fits nowhere, and the sum of two of them does not overflow.
const hugeCost = 1 << 60

// judge decides one charge on top of what the batch has done so far, and spends it if its mode says so.
func (p *pendingCounter) judge(c *limiter.Charge) (fits bool) {
	refundAt := c.At
	c.State = p.state()
	together := p.spent + min(c.Cost, hugeCost)
	fits = c.Cost < 0 || c.Mode == limiter.Force || p.held.fits(p.limit, p.at, together)
	c.Decision = limiter.Decision{Allowed: fits}
	switch {
	case !fits:
		c.RetryAfter = p.held.retryAfter(p.limit, p.at, together)
	case c.Mode == limiter.Peek:
	case c.Cost > 0:
		current, _ := p.held.units(p.limit, p.at)
		p.spent = min(together, limiter.MaxCount-current)
	default:
		p.refund(max(c.Cost, -hugeCost), refundAt)
	}
	p.describe(c)
	return fits
}

// describe fills in what is left.
func (p *pendingCounter) describe(c *limiter.Charge) {
	after := p.after()
	c.Remaining = after.remaining(p.limit, p.at)
	c.ResetAfter = after.resetAfter(p.limit, p.at)
}

func (p *pendingCounter) state() limiter.State {
	current, previous := p.after().units(p.limit, p.at)
	return limiter.State{At: p.at, Current: current, Previous: previous}
}

// after returns the counter with the batch spent.
func (p *pendingCounter) after() *history {
	h := p.held.clone()
	h.spend(p.limit, p.at, p.spent)
	return h
}

// refund takes off -cost units: those of this batch first, which are the newest.
func (p *pendingCounter) refund(cost, refundAt int64) {
	back := -cost
	if p.held.isCurrent(p.limit, p.at, refundAt) {
		own := min(back, p.spent)
		p.spent -= own
		back -= own
	}
	if p.held.refund(p.limit, p.at, refundAt, back) {
		p.refunded = true
	}
}
