package limitertest

import (
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// refusalID is what a store that caches refusals must not confuse with others: the question that was refused.
type refusalID struct {
	counter counter
	limit   limiter.Limit
	cost    int64
}

func refusalIDOf(c *limiter.Charge) refusalID { return refusalID{counterOf(c), c.Limit, c.Cost} }

// refusal is an answer that the store has given.
type refusal struct {
	limiter.State
	limiter.Decision
	moved time.Duration // by how much its clock had been moved by then
}

// noteRefusals keeps what was refused, for mayBeCached.
func (s *storeTest) noteRefusals(got answer) {
	for i := range got.charges {
		c := &got.charges[i]
		if !got.taken && c.Mode == limiter.Enforce && !c.Allowed {
			id := refusalIDOf(c)
			s.refusals[id] = append(s.refusals[id], refusal{c.State, c.Decision, s.moved})
		}
	}
}

// mayBeCached reports whether the store may have refused a batch without reading its counters: it has a charge that a
// limit of 0 refuses, or repeats an earlier refusal of a charge that would still be refused; and all other charges are
// such charges or were not judged.
func (s *storeTest) mayBeCached(got, want answer) bool {
	refused := false
	for i := range got.charges {
		g, w := &got.charges[i], &want.charges[i]
		switch {
		case got.taken:
			return false
		case refusedByZero(g) && g.State == w.State && g.Decision == w.Decision:
			refused = refused || g.Mode == limiter.Enforce
		case g.Mode == limiter.Enforce && !w.Allowed && s.repeats(g):
			refused = true
		case !unjudged(g):
			return false
		}
	}
	return refused
}

// unjudged reports whether a charge is marked as one that the store has not judged.
func unjudged(c *limiter.Charge) bool {
	return c.Cached && c.State == limiter.State{} && c.Decision == limiter.Decision{Allowed: true}
}

// repeats reports whether the answer is one that was given before, with its waits less by the time since.
func (s *storeTest) repeats(g *limiter.Charge) bool {
	for _, r := range s.refusals[refusalIDOf(g)] {
		since := s.moved - r.moved
		if g.State == r.State && !g.Allowed && g.Remaining == r.Remaining &&
			s.isRest(g.RetryAfter, r.RetryAfter, since) && s.isRest(g.ResetAfter, r.ResetAfter, since) {
			return true
		}
	}
	return false
}

// isRest reports whether a wait is what is left of an earlier one. On a clock that moves by itself the time since then
// is not known exactly.
func (s *storeTest) isRest(wait, before, since time.Duration) bool {
	switch {
	case before == limiter.Never:
		return wait == before
	case s.Advance == nil:
		return wait >= 0 && wait <= before
	}
	return wait == max(0, before-since)
}
