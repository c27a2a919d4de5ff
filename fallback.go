package httplimit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
	"github.com/httplimit/httplimit/limiter/storekit"
)

// FailurePolicy says what a rule does with requests that the store cannot decide: it is down, slower than its
// time-out, answers with an error, or panics. The zero value is FailLocal.
//
// A limit of 0 needs no store: whatever the policies are, a request to which a rule with such a limit applies is
// refused with 429, and told no time to come back.
type FailurePolicy uint8

const (
	// FailLocal counts in this process instead, with the rule's share: Requests (and Burst) divided by
	// Config.Instances, rounded up; the share of 0 is 0. What is counted here is not charged to the store later.
	// It takes memory for up to a million keys, as the default store does.
	FailLocal FailurePolicy = iota
	// FailOpen lets the request pass. No field names the rule.
	FailOpen
	// FailClosed answers 503 with Retry-After.
	FailClosed
)

var failurePolicyNames = []string{"fail-local", "fail-open", "fail-closed"}

// String returns the policy's name, such as "fail-local".
func (p FailurePolicy) String() string { return nameOf(p, failurePolicyNames...) }

// MarshalText implements [encoding.TextMarshaler]: it is String, or an error if p is no policy.
func (p FailurePolicy) MarshalText() ([]byte, error) {
	if p > FailClosed {
		return nil, fmt.Errorf("httplimit: %d is no policy, want FailLocal, FailOpen or FailClosed", uint8(p))
	}
	return []byte(p.String()), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler]. It takes the names that String returns.
func (p *FailurePolicy) UnmarshalText(text []byte) error {
	i := slices.Index(failurePolicyNames, string(text))
	if i < 0 {
		return fmt.Errorf("httplimit: %.32q is no policy, want one of %q", text, failurePolicyNames)
	}
	*p = FailurePolicy(i)
	return nil
}

// failsClosed reports whether the rule refuses what the store cannot decide. A rule in shadow refuses nothing.
func (r *appliedRule) failsClosed() bool { return r.Failure == FailClosed && !r.shadow }

// fallBack applies the rules' policies after the store returned err.
func (d *decision) fallBack(ctx context.Context, err error) {
	d.err = err
	var local []int
	refused := d.refusedByZero()
	for i := range d.rules {
		r := &d.rules[i]
		if !d.quiet {
			r.state.health.failed(d.m.logger, r.rule, err)
		}
		r.source, r.undecided, r.spent, r.violated, r.unjudged = SourceNone, ResultOpen, false, false, false
		d.charges[i].Decision = limiter.Decision{Allowed: true}
		switch {
		case refused, d.charges[i].Limit.Requests == 0:
			local = append(local, i) // where the limit of 0 refuses, and nothing is counted
		case r.failsClosed():
			d.status, d.retryAfter = http.StatusServiceUnavailable, nextTry(err)
			r.undecided = ResultClosed
		case r.Failure == FailLocal:
			local = append(local, i)
			r.undecided = ResultUnjudged // until it is counted
		}
	}
	if d.status == 0 && len(local) > 0 {
		d.countLocally(ctx, local)
	}
}

// refusedByZero reports whether a limit of 0 refuses the request, so that no store is needed to decide.
func (d *decision) refusedByZero() bool {
	for i := range d.charges {
		if c := &d.charges[i]; c.Limit.Requests == 0 && c.Mode == limiter.Enforce {
			return true
		}
	}
	return false
}

// nextTry returns when the store may decide again, as far as its error says.
func nextTry(err error) time.Duration {
	var unavailable *storekit.UnavailableError
	if errors.As(err, &unavailable) {
		return max(time.Second, unavailable.RetryAfter)
	}
	return time.Second
}

// countLocally decides some of the rules in this process, in one batch.
func (d *decision) countLocally(ctx context.Context, which []int) {
	batch := make([]limiter.Charge, len(which))
	for j, i := range which {
		batch[j] = d.charges[i]
		batch[j].Limit = storekit.Share(batch[j].Limit, batch[j].Cost, d.s.instances)
	}
	taken, err := d.m.askStore(ctx, d.m.local(), batch)
	if err != nil {
		if !d.quiet {
			d.m.logger.warnOnce("", "counting in this process failed, requests are answered 503", err)
		}
		d.status, d.retryAfter, d.err = http.StatusServiceUnavailable, nextTry(err), err
		for _, i := range which {
			d.rules[i].undecided = ResultClosed
		}
		return
	}
	for j, i := range which {
		d.rules[i].waitForPlace(&batch[j])
		d.rules[i].source, d.rules[i].whole, d.charges[i] = SourceLocal, d.charges[i].Limit, batch[j]
		d.judged(&d.rules[i], &d.charges[i], taken)
	}
	if !taken {
		d.status = http.StatusTooManyRequests
	}
}

// newLocalStore returns the store that counts while the configured one cannot: a memstore of default size.
func newLocalStore() limiter.Store {
	store, _ := memstore.New(memstore.Config{}) // the zero Config is always valid
	return store
}
