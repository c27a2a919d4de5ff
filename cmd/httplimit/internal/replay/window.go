package replay

import (
	"math"
	"slices"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// windowKind is a length of window in which the clients of a rule are looked at, and the limits over it that are tried.
type windowKind struct {
	length   int64 // milliseconds
	weighted bool  // the previous window counts by its overlap, as in SlidingWindow; else it does not, as in FixedWindow
	limits   []int64
}

func newWindowKind(length time.Duration, of limiter.Algorithm, own int64) windowKind {
	w := windowKind{length: length.Milliseconds(), weighted: of != limiter.FixedWindow}
	for decade := int64(1); decade <= limiter.MaxCount; decade *= 10 {
		w.limits = append(w.limits, decade, 2*decade, 5*decade)
	}
	w.limits = slices.DeleteFunc(w.limits, func(n int64) bool { return n > limiter.MaxCount })
	if at, there := slices.BinarySearch(w.limits, own); !there && own > 0 {
		w.limits = slices.Insert(w.limits, at, own)
	}
	return w
}

// windowUse is what one client asked for within windows of one length, and what limits over it would have refused.
type windowUse struct {
	counts
	peak  uint32
	tried []trial // tried[i] under the kind's limits[i]; a limit that has refused nothing yet has none
}

// counts are those of a window and of the one before it. They end at what 32 bits hold.
type counts struct {
	number            int64
	current, previous uint32
}

// trial is a client under one limit, from the first refusal on: until then every limit counts the same.
type trial struct {
	counts
	refused uint32
}

// advance moves the counts to the window of that number.
func (c *counts) advance(number int64) {
	switch {
	case c.number == number:
	case c.number == number-1:
		c.previous, c.current = c.current, 0
	default:
		c.previous, c.current = 0, 0
	}
	c.number = number
}

// fits is SlidingWindow's rule, and with a previous count of no weight FixedWindow's.
func (c *counts) fits(k *windowKind, at, cost, limit int64) bool {
	asked := (int64(c.current) + cost) * k.length
	if k.weighted {
		asked += int64(c.previous) * (k.length - at%k.length)
		return asked <= limit*k.length+k.length-1
	}
	return asked <= limit*k.length
}

func (c *counts) add(cost int64) { c.current = uint32(min(int64(c.current)+cost, math.MaxUint32)) }

// see notes a request. What was given back after it, because its status does not count, takes up nothing.
func (u *windowUse) see(k *windowKind, at, cost int64, counted bool) {
	number := at / k.length
	u.advance(number)
	for i := range u.tried {
		t := &u.tried[i]
		if t.advance(number); !t.fits(k, at, cost, k.limits[i]) {
			t.refused++
		} else if counted {
			t.add(cost)
		}
	}
	for i := len(u.tried); i < len(k.limits) && !u.fits(k, at, cost, k.limits[i]); i++ {
		u.tried = append(u.tried, trial{u.counts, 1})
	}
	if counted {
		u.add(cost)
		u.peak = max(u.peak, u.current)
	}
}

// exact reports whether the limits tried count as the rule itself does.
func (k *windowKind) exact(u *ruleUse) bool {
	a := u.config.Limit.Algorithm
	return a == limiter.SlidingWindow || a == limiter.FixedWindow
}
