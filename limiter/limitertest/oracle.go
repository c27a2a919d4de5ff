package limitertest

import (
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// oracle answers batches by the definitions, slowly: it keeps every unit that was spent, asks one question only,
// whether n more units fit at some moment, and searches for everything else. It shares no arithmetic with package
// limiter.
type oracle map[counter]*tally

// counter is what a charge counts on.
type counter struct {
	scope, key string
	algorithm  limiter.Algorithm
	window     time.Duration
}

func counterOf(c *limiter.Charge) counter {
	return counter{c.Scope, c.Key, c.Limit.Algorithm, c.Limit.Window}
}

// draft is a counter while a batch is judged on it.
type draft struct {
	held  *tally // what it held before, less what the batch gives back
	spent int64  // what the batch adds
	gave  bool   // something that it held was given back
	limit limiter.Limit
	at    int64
}

// take fills in the charges' States and Decisions, decided at those moments, and spends the batch or nothing.
func (o oracle) take(charges []limiter.Charge, moments []int64) (taken bool) {
	drafts := map[counter]*draft{}
	taken = true
	for i := range charges {
		c := &charges[i]
		id := counterOf(c)
		d := drafts[id]
		if d == nil {
			d = &draft{held: o.held(id).clone()}
			drafts[id] = d
		}
		d.limit, d.at = c.Limit, moments[i]
		if !d.judge(c) && c.Mode == limiter.Enforce {
			taken = false
		}
	}
	if !taken {
		for i := range charges {
			c := &charges[i]
			untouched := draft{held: o.held(counterOf(c)), limit: c.Limit, at: moments[i]}
			untouched.tell(c)
			c.State = untouched.state()
		}
		return false
	}
	for id, d := range drafts {
		if d.spent != 0 || d.gave { // a mere look leaves a bucket to the rate of its last charge
			o[id] = d.after()
		}
	}
	return true
}

func (o oracle) held(id counter) *tally {
	if t := o[id]; t != nil {
		return t
	}
	return &tally{}
}

// enough is a cost that fits nowhere, and to which another can be added.
const enough = 1 << 60

// judge decides one charge on top of what the batch has done so far, and does what its mode says.
func (d *draft) judge(c *limiter.Charge) (fits bool) {
	givesTo := c.At
	c.State = d.state()
	together := d.spent + min(c.Cost, enough)
	fits = c.Cost < 0 || c.Mode == limiter.Force || d.held.fits(d.limit, d.at, together)
	c.Decision = limiter.Decision{Allowed: fits}
	switch {
	case !fits:
		c.RetryAfter = d.held.retryAfter(d.limit, d.at, together)
	case c.Mode == limiter.Peek:
	case c.Cost > 0:
		current, _ := d.held.units(d.limit, d.at)
		d.spent = min(together, limiter.MaxCount-current)
	default:
		d.refund(max(c.Cost, -enough), givesTo)
	}
	d.tell(c)
	return fits
}

// tell fills in what is left.
func (d *draft) tell(c *limiter.Charge) {
	after := d.after()
	c.Remaining = after.remaining(d.limit, d.at)
	c.ResetAfter = after.resetAfter(d.limit, d.at)
}

func (d *draft) state() limiter.State {
	current, previous := d.after().units(d.limit, d.at)
	return limiter.State{At: d.at, Current: current, Previous: previous}
}

// after is the counter with the batch spent.
func (d *draft) after() *tally {
	t := d.held.clone()
	t.spend(d.limit, d.at, d.spent)
	return t
}

// refund gives back -cost units: those of this batch first, which are the newest.
func (d *draft) refund(cost, givesTo int64) {
	back := -cost
	if d.held.isCurrent(d.limit, d.at, givesTo) {
		own := min(back, d.spent)
		d.spent -= own
		back -= own
	}
	if d.held.refund(d.limit, d.at, givesTo, back) {
		d.gave = true
	}
}
