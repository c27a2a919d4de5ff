package console

import (
	"context"
	"math"
	"net/http"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// Observe implements [httplimit.Observer]. It allocates nothing, waits for nobody, and keeps neither o nor the keys of
// clients beyond the few hundred that were refused most or are nearest to their limits.
func (c *Console) Observe(_ context.Context, o *httplimit.Observation) {
	if c.started.IsZero() {
		return // the zero Console
	}
	second, stripe := c.secondOf(o.Time), stripeOf(o)
	c.total.count(stripe, second, statusCounter(o.Status))
	for i := range o.Rules {
		r := &o.Rules[i]
		s := c.series.of(o.Namespace, r.Rule, i, second)
		if s == nil {
			continue
		}
		s.see(second)
		s.history.count(stripe, second, counterOf[r.Result&7][r.Source&3])
		switch r.Result {
		case httplimit.ResultRefused, httplimit.ResultShadowRefused, httplimit.ResultBanned:
			s.refused.count(r.Key, sightingOf(r, second))
		case httplimit.ResultAllowed:
			if isNear(r) {
				s.history.count(stripe, second, nearLimit)
				s.near.count(r.Key, sightingOf(r, second))
			}
		}
	}
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

func statusCounter(status int) uint8 {
	switch status {
	case 0:
		return passed
	case http.StatusServiceUnavailable:
		return unavailable
	}
	return refused
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

func sightingOf(r *httplimit.Observed, second uint32) sighting {
	seen := sighting{
		second: second, remaining: uint32(r.Remaining), limit: uint32(mostOf(&r.Limit)), // both are at most 1e9
		result: uint8(r.Result), noKey: r.NoKey,
	}
	wait := r.RetryAfter
	if r.Result == httplimit.ResultAllowed {
		wait = r.ResetAfter
	}
	if wait < limiter.Never/2 {
		if until := int64(second) + int64((wait+time.Second-1)/time.Second); until <= math.MaxUint32 {
			seen.until = uint32(until)
		}
	}
	return seen
}
