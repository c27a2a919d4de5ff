package httplimit

import (
	"net/http"
	"slices"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// Refused tells whether the request is refused.
func (o *Outcome) Refused() bool { return o.status != 0 }

// Status is that of the refusal, see [Denial]; 0 if the request is not refused.
func (o *Outcome) Status() int { return o.status }

// Denied returns the refusal if the request is refused.
func (o *Outcome) Denied() (Denial, bool) {
	if o.status == 0 {
		return Denial{}, false
	}
	return o.denial(nil), true
}

// Problem returns the body of the default answer to a refused request, as [Denial.MarshalJSON] does. It is not to be
// written to, and gone after Settle.
func (o *Outcome) Problem() []byte {
	if r := o.violatedAlone(); r != nil {
		return r.problem
	}
	d := o.denial(o.verdicts[:0]) // borrowed: nobody else sees this Denial
	o.verdicts = d.Rules
	from := len(o.wire.text)
	o.wire.text = d.appendProblem(o.wire.text)
	return slices.Clip(o.wire.text[from:])
}

// violated tells whether a rule refused the request.
func (o *Outcome) violated(i int) bool {
	return o.status == http.StatusTooManyRequests && o.items[i].source != SourceNone &&
		o.charges[i].Mode == limiter.Enforce && !o.charges[i].Allowed
}

// denial appends its Rules to rules.
func (o *Outcome) denial(rules []Verdict) Denial {
	for i := range o.items {
		it := &o.items[i]
		closed := o.status == http.StatusServiceUnavailable && it.rule.closes()
		if (closed || o.violated(i)) && !it.rule.Private {
			rules = append(rules, o.verdict(i))
		}
	}
	return Denial{Status: o.status, RetryAfter: o.retryAfter(), Rules: rules}
}

// violatedAlone is the rule that alone refused the request, nil if there is none or several.
func (o *Outcome) violatedAlone() (one *rule) {
	for i := range o.items {
		if !o.violated(i) {
			continue
		}
		if one != nil {
			return nil
		}
		one = o.items[i].rule
	}
	return one
}

func (o *Outcome) verdict(i int) Verdict {
	c := &o.charges[i]
	return Verdict{Rule: o.items[i].rule.name, Limit: *o.limit(i), Cost: c.Cost, Decision: c.Decision}
}

// retryAfter is the longest wait: without other traffic a rule that allows the request goes on doing so.
func (o *Outcome) retryAfter() time.Duration {
	longest := o.retry
	for i := range o.items {
		if o.violated(i) {
			longest = max(longest, o.charges[i].RetryAfter)
		}
	}
	return longest
}
