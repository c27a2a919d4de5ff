package httplimit

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/storekit"
)

// FailurePolicy says what a rule does with requests that the store cannot decide: it is down, slower than its
// time-out, or answers with an error. The zero value is FailLocal.
type FailurePolicy uint8

const (
	// FailLocal counts in this process instead, with the rule's share: Requests (and Burst) divided by
	// Config.Instances, rounded up. What is counted here is not charged to the store later. It takes memory for
	// up to a million keys, as the default store does.
	FailLocal FailurePolicy = iota
	// FailOpen lets the request pass. No field tells of the rule.
	FailOpen
	// FailClosed answers 503 with Retry-After.
	FailClosed
)

// String returns the policy's name, such as "fail-local".
func (p FailurePolicy) String() string {
	return name(int(p), "fail-local", "fail-open", "fail-closed")
}

// Health tells of a rule that the store could not decide lately.
type Health struct {
	Rule   string
	Policy FailurePolicy // what happens to its requests meanwhile
	Since  time.Time
	Err    error // the last error of the store; for operators, not for clients
}

// health is the state of a rule. It changes seldom and is read by every request.
type health struct {
	failing atomic.Pointer[failure] // nil while all is well
}

type failure struct {
	since, last time.Time
	err         error
}

// staleTime is how long a failure says anything about the present.
const staleTime = 10 * time.Second

// settleTime is how long the store must not have failed before it counts as well again: one that fails now and then
// would otherwise write two lines for each failure.
const settleTime = time.Second

func (h *health) failed(j *journal, r *rule, err error) {
	now := time.Now()
	before := h.failing.Load()
	if before != nil {
		h.failing.CompareAndSwap(before, &failure{since: before.since, last: now, err: err})
		return
	}
	if h.failing.CompareAndSwap(nil, &failure{since: now, last: now, err: err}) {
		j.log().Warn("httplimit: the store cannot decide", "rule", r.name, "policy", r.Failure.String(), "cause", err)
	}
}

func (h *health) succeeded(j *journal, r *rule) {
	before := h.failing.Load()
	if before == nil || time.Since(before.last) < settleTime {
		return
	}
	if h.failing.CompareAndSwap(before, nil) {
		j.log().Info("httplimit: the store decides again", "rule", r.name, "policy", r.Failure.String(), "after", time.Since(before.since))
	}
}

// Health returns the rules that the store could not decide lately, none of them if all is well: for a readiness page. A
// rule is well again with its first decision a second or more after the last failure, and ten seconds after it in any
// case, so that a service that gets no requests because it is not ready does not stay so. Rules with FailLocal and
// FailOpen go on serving: they are worth a warning, and no reason to take the service out of the load balancer.
func (m *Middleware) Health() []Health {
	s := m.settings.Load()
	if s == nil {
		return nil
	}
	var ill []Health
	for i := range s.rules {
		r := &s.rules[i]
		if f := r.state.health.failing.Load(); f != nil && time.Since(f.last) < staleTime {
			ill = append(ill, Health{Rule: r.name, Policy: r.Failure, Since: f.since, Err: f.err})
		}
	}
	return ill
}

// closes tells whether the rule refuses what the store cannot decide. A rule on trial refuses nothing.
func (r *rule) closes() bool { return r.Failure == FailClosed && !r.Shadow }

// undecided applies the policies after the store returned err.
func (o *Outcome) undecided(err error) {
	var counted []int
	for i := range o.items {
		r := o.items[i].rule
		r.state.health.failed(o.m.journal, r, err)
		o.items[i].source = SourceNone
		o.charges[i].Decision = limiter.Decision{Allowed: true}
		switch {
		case r.closes():
			o.status, o.retry = http.StatusServiceUnavailable, nextTry(err)
		case r.Failure == FailLocal:
			counted = append(counted, i)
		}
	}
	if o.status == 0 && len(counted) > 0 {
		o.countLocally(counted)
	}
}

// nextTry is when the store may decide again, as far as it told.
func nextTry(err error) time.Duration {
	var unavailable *storekit.UnavailableError
	if errors.As(err, &unavailable) {
		return max(time.Second, unavailable.RetryAfter)
	}
	return time.Second
}

// countLocally decides some of the rules in this process, together.
func (o *Outcome) countLocally(which []int) {
	batch := make([]limiter.Charge, len(which))
	for j, i := range which {
		batch[j] = o.charges[i]
		batch[j].Limit = share(batch[j].Limit, batch[j].Cost, o.s.instances)
	}
	taken, err := o.m.local().Take(o.ctx, batch)
	if err != nil {
		if o.ctx.Err() != nil {
			o.status = statusClientClosed
			return
		}
		o.m.journal.once("", "counting in this process failed, requests are answered 503", err)
		o.status, o.retry = http.StatusServiceUnavailable, nextTry(err)
		return
	}
	for j, i := range which {
		it := &o.items[i]
		it.source, it.whole, it.spent = SourceLocal, o.charges[i].Limit, taken && batch[j].Allowed
		o.charges[i] = batch[j]
	}
	if !taken {
		o.status = http.StatusTooManyRequests
	}
}

// share is one instance's part of a limit, rounded up, and large enough for a cost that the whole limit has room for.
func share(l limiter.Limit, cost, instances int64) limiter.Limit {
	capacity := l.Capacity()
	part := (capacity-1)/instances + 1
	if cost <= capacity {
		part = max(part, cost)
	}
	l.Requests = (l.Requests-1)/instances + 1
	if l.Algorithm == limiter.TokenBucket {
		l.Burst = part
	} else {
		l.Requests = part
	}
	return l
}

// takeDirect decides one charge of a rule outside a request, by the store or the rule's policy. What is spent is told to
// the Observer.
func (m *Middleware) takeDirect(ctx context.Context, s *settings, r *rule, c *limiter.Charge) error {
	began := time.Now()
	batch := []limiter.Charge{*c}
	_, err := s.store.Take(ctx, batch)
	seen := Observation{Rule: r.name, Cost: c.Cost, Store: time.Since(began)}
	if err == nil {
		r.state.health.succeeded(m.journal, r)
	} else if seen.Source, err = m.directFallback(ctx, s, r, batch, err); err != nil && ctx.Err() != nil {
		return err
	}
	*c = batch[0]
	if s.observer != nil && c.Mode != limiter.Peek {
		seen.see(r, c, err != nil)
		s.observer.Observe(seen)
	}
	return err
}

// directFallback applies the rule's policy to a batch of one after the store returned an error.
func (m *Middleware) directFallback(ctx context.Context, s *settings, r *rule, batch []limiter.Charge, err error) (Source, error) {
	if ctx.Err() != nil {
		return SourceNone, ctx.Err()
	}
	r.state.health.failed(m.journal, r, err)
	c := &batch[0]
	c.Decision = limiter.Decision{Allowed: true}
	switch {
	case r.closes():
		return SourceNone, err
	case r.Failure != FailLocal:
		return SourceNone, nil
	}
	c.Limit = share(c.Limit, c.Cost, s.instances)
	_, err = m.local().Take(ctx, batch)
	return SourceLocal, err
}
