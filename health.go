package httplimit

import (
	"sync/atomic"
	"time"
)

// Health describes a rule that the store could not decide lately.
type Health struct {
	Rule   string
	Policy FailurePolicy // what happens to its requests meanwhile
	Since  time.Time
	Err    error // the last error of the store; for operators, not for clients
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
	var degraded []Health
	for i := range s.rules {
		r := &s.rules[i]
		if f := r.state.health.failing.Load(); f != nil && time.Since(f.last) < failureExpiry {
			degraded = append(degraded, Health{Rule: r.Name, Policy: r.Failure, Since: f.since, Err: f.err})
		}
	}
	return degraded
}

// health says whether the store decides a rule. It changes seldom and every request reads it.
type health struct {
	failing atomic.Pointer[failure] // nil while all is well
}

type failure struct {
	since, last time.Time
	err         error
}

const (
	// failureExpiry is how long a failure says anything about the present.
	failureExpiry = 10 * time.Second

	// recoveryTime is how long the store must not have failed before the rule is well again. A store that fails now and
	// then would otherwise write two lines for each failure.
	recoveryTime = time.Second
)

func (h *health) failed(l *logger, r *rule, err error) {
	now := time.Now()
	before := h.failing.Load()
	if before != nil {
		h.failing.CompareAndSwap(before, &failure{since: before.since, last: now, err: err})
		return
	}
	if h.failing.CompareAndSwap(nil, &failure{since: now, last: now, err: err}) {
		l.slog().Warn("httplimit: the store cannot decide",
			"rule", r.Name, "policy", r.Failure.String(), "cause", clip(err.Error()))
	}
}

// succeeded is for decisions after a failure.
func (h *health) succeeded(l *logger, r *rule) {
	before := h.failing.Load()
	if before == nil || time.Since(before.last) < recoveryTime {
		return
	}
	if h.failing.CompareAndSwap(before, nil) {
		l.slog().Info("httplimit: the store decides again",
			"rule", r.Name, "policy", r.Failure.String(), "after", time.Since(before.since))
	}
}
