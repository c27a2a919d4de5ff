package limitertest

import (
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// refusal is a charge as far as a store that remembers refusals has to tell it from others.
type refusal struct {
	counter counter
	limit   limiter.Limit
	cost    int64
}

func refusalOf(c *limiter.Charge) refusal { return refusal{counterOf(c), c.Limit, c.Cost} }

// told is a refusal that the store has given, and how far its clock had been moved then.
type told struct {
	limiter.State
	limiter.Decision
	moved time.Duration
}

// remember notes what was refused, for fromMemory.
func (s *subject) remember(got answer) {
	for i := range got.charges {
		c := &got.charges[i]
		if !got.taken && c.Mode == limiter.Enforce && !c.Allowed {
			id := refusalOf(c)
			s.told[id] = append(s.told[id], told{c.State, c.Decision, s.moved})
		}
	}
}

// fromMemory tells whether a refusal may have been answered without a look at the counters: it repeats what was
// told of a charge that would still be refused, and all others are such charges or were not judged.
func (s *subject) fromMemory(got, want answer) bool {
	repeats := false
	for i := range got.charges {
		g, w := &got.charges[i], &want.charges[i]
		switch {
		case !got.taken && g.Mode == limiter.Enforce && !w.Allowed && s.repeats(g):
			repeats = true
		case got.taken || g.Decision != limiter.Decision{Allowed: true}:
			return false
		}
	}
	return repeats
}

// repeats tells whether the answer is one that was given before, with its waits less by the time since.
func (s *subject) repeats(g *limiter.Charge) bool {
	for _, t := range s.told[refusalOf(g)] {
		since := s.moved - t.moved
		if g.State == t.State && !g.Allowed && g.Remaining == t.Remaining &&
			s.aged(g.RetryAfter, t.RetryAfter, since) && s.aged(g.ResetAfter, t.ResetAfter, since) {
			return true
		}
	}
	return false
}

// aged tells whether a wait is what is left of another one. On a clock that goes on by itself nobody knows exactly.
func (s *subject) aged(wait, before, since time.Duration) bool {
	switch {
	case before == limiter.Never:
		return wait == before
	case s.Advance == nil:
		return wait >= 0 && wait <= before
	}
	return wait == max(0, before-since)
}
