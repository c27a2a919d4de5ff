package httplimit

import (
	"slices"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
)

// mostSpends bounds what is kept of the spends of one request, which may spend with every chunk of an answer: beyond
// it those that lie closest together in time become one.
const mostSpends = 32

// spends is what one rule has charged one request and what can still be given back, oldest first.
type spends struct {
	first spend   // of the request itself
	later []spend // of Spend
}

// spend is units that were charged at one moment.
type spend struct {
	at, units int64
	local     bool // charged to the second store of storekit.WithFallback
}

// begin notes the charge of the request itself.
func (s *spends) begin(c *limiter.Charge) { s.first = spend{c.At, c.Cost, c.Local} }

// add notes units that were charged by c.
func (s *spends) add(c *limiter.Charge, units int64) {
	if units <= 0 {
		return
	}
	s.later = append(s.later, spend{c.At, units, c.Local})
	if len(s.later) > mostSpends {
		s.merge(&c.Limit)
	}
}

// merge makes one of the two neighbours that lie closest together. Its moment is the earlier one: what was charged to
// two windows is given back to the first, where less is gained by it.
func (s *spends) merge(l *limiter.Limit) {
	best, least := -1, int64(0)
	for i := range s.later[1:] {
		a, b := s.later[i], s.later[i+1]
		if d := a.distance(b, l); a.local == b.local && (best < 0 || d < least) {
			best, least = i, d
		}
	}
	if best < 0 {
		return
	}
	one, other := &s.later[best], s.later[best+1]
	one.at, one.units = min(one.at, other.at), one.units+other.units
	s.later = slices.Delete(s.later, best+1, best+2)
}

// distance returns how many milliseconds lie between two spends, 0 if a refund of either goes to the same units.
func (s spend) distance(other spend, l *limiter.Limit) int64 {
	length := int64(1) // of what is counted as one
	switch l.Algorithm {
	case limiter.SlidingWindow, limiter.FixedWindow:
		length = l.Window.Milliseconds()
	case limiter.StrictWindow:
		length, _ = algorithm.PartsOf(l.Window)
	case limiter.TokenBucket:
		return 0
	}
	if s.at/length == other.at/length {
		return 0
	}
	return max(s.at, other.at) - min(s.at, other.at)
}

// take removes up to n units, the latest first, and returns the charges that refund them. c is where they were charged.
func (s *spends) take(c limiter.Charge, n int64) (refunds []limiter.Charge) {
	c.Mode, c.Decision, c.Cached = limiter.Enforce, limiter.Decision{}, false
	for i := len(s.later); i >= 0 && n > 0; i-- {
		from := &s.first
		if i > 0 {
			from = &s.later[i-1]
		}
		units := min(n, from.units)
		from.units -= units
		n -= units
		if i > 0 && from.units == 0 {
			s.later = s.later[:i-1]
		}
		if units > 0 {
			c.Cost, c.State, c.Local = -units, limiter.State{At: from.at}, from.local
			refunds = append(refunds, c)
		}
	}
	return refunds
}
