package console

import (
	"context"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// Observe implements [httplimit.Observer]. It keeps neither o nor the keys of clients beyond the few hundred that were
// refused most or are nearest to their limits. It allocates nothing and waits for nobody, the first decision of a rule
// apart.
func (c *Console) Observe(_ context.Context, o *httplimit.Observation) {
	if c.started.IsZero() {
		return // the zero Console
	}
	second, stripe, fate := c.secondOf(o.Time), stripeOf(o), fateOfStatus(o.Status)
	requestCounted := false
	for i := range o.Rules {
		r := &o.Rules[i]
		s := c.series.of(o.Namespace, r.Rule, i, second)
		if s == nil {
			continue
		}
		kind := kindOfDecision(r)
		n := without(kind)
		if !requestCounted && fateOf[kind] == fate {
			n, requestCounted = counter(kind), true
		}
		s.count(r, stripe, second, n)
	}
	if !requestCounted {
		c.others.count(stripe, second, anyOf[fate-passed])
	}
}

func kindOfDecision(r *httplimit.Observed) uint8 {
	kind := kindOf[r.Result&7][r.Source&3]
	if r.Result == httplimit.ResultAllowed && isNear(r) {
		return kind + near
	}
	return kind
}

// second returns the present second of Unix time. The clock is that of the process's start, and steps of the system's
// clock do not move it.
func (c *Console) second() uint32 {
	return uint32((c.startedNano + int64(time.Since(c.started))) / int64(time.Second))
}

// secondOf returns the second of a moment. It saves reading the clock, which is half of what counting costs; where
// nobody has read it, t is zero.
func (c *Console) secondOf(t time.Time) uint32 {
	if t.IsZero() {
		return c.second()
	}
	return uint32((c.startedNano + int64(t.Sub(c.started))) / int64(time.Second))
}

// isNear reports whether less than a fifth of the limit is left.
func isNear(r *httplimit.Observed) bool {
	return 5*r.Remaining < mostOf(&r.Limit)
}

// mostOf returns the most that a key can have at once.
func mostOf(l *limiter.Limit) int64 {
	if l.Burst > 0 {
		return l.Burst
	}
	return l.Requests
}
