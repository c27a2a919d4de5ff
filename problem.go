package httplimit

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/httplimit/httplimit/internal/fields"
	"github.com/httplimit/httplimit/limiter"
)

// MarshalJSON returns the problem document (RFC 9457) that ServeHTTP writes, of the types in
// draft-ietf-httpapi-ratelimit-headers-11, section 5. Two members are ours, extensions by RFC 9457, section 3.2:
// "retry_after" is the number that Retry-After has, missing where that is; "limits" has the limits of the
// "violated-policies" of a 429, quota and window in the units of RateLimit-Policy: requests, and seconds, rounded up. A
// limit of requests at once (Rule.InFlight) has "quota_unit":"concurrent-requests" for a window. With NoHeaders, which
// tells clients no limits, "limits" is missing.
//
//	{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded",
//	 "title":"Request cannot be satisfied as assigned quota has been exceeded","status":429,
//	 "violated-policies":["login"],"limits":[{"policy":"login","quota":5,"window":900}],"retry_after":37}
func (d Denial) MarshalJSON() ([]byte, error) {
	const usual = 320 // bytes; with one rule it is about 260
	return d.appendProblem(make([]byte, 0, usual)), nil
}

// Problem returns the body of the default answer to a refused request, as [Denial.MarshalJSON] does. It is not to be
// written to, and valid until Release.
func (o *Outcome) Problem() []byte {
	if r := o.decision.onlyViolated(); r != nil {
		o.body = appendRetryAfter(append(o.body[:0], r.problem...), o.decision.retryAfter)
	} else {
		d := o.decision.denial(o.verdicts[:0]) // borrowed: nobody else sees this Denial
		o.verdicts = d.Rules
		o.body = d.appendProblem(o.body[:0])
	}
	return slices.Clip(o.body)
}

// onlyViolated returns the rule that alone refused the request, by the limit that its problem tells; nil if there is
// none.
func (d *decision) onlyViolated() (only *rule) {
	for i := range d.rules {
		r := &d.rules[i]
		if !r.violated {
			continue
		}
		if limit := d.charges[i].Limit; only != nil || limit != r.Limit && (r.source != SourceLocal || r.whole != r.Limit) {
			return nil
		}
		only = r.rule
	}
	return only
}

// problemOf returns the body of a refusal by r alone and its usual limit, but for what appendRetryAfter adds. Many
// answers are made from it at once.
func problemOf(r *Rule, untold bool) []byte {
	v := Verdict{Rule: r.Name, Limit: r.Limit, private: r.Private, inFlight: r.InFlight, untold: untold}
	refusal := Denial{Status: http.StatusTooManyRequests, Rules: []Verdict{v}}
	return slices.Clip(refusal.appendViolated(nil))
}

// bodies keeps buffers for answers: refusals come in floods.
var bodies = sync.Pool{New: func() any { return new([]byte) }}

const problemType = "application/problem+json"

const (
	problemQuota    = "https://iana.org/assignments/http-problem-types#quota-exceeded"
	problemCapacity = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"

	headQuota = `{"type":"` + problemQuota +
		`","title":"Request cannot be satisfied as assigned quota has been exceeded","status":`
	headCapacity = `{"type":"` + problemCapacity +
		`","title":"Request cannot be satisfied due to temporary server capacity constraints","status":`
)

// appendProblem appends the whole document.
func (d *Denial) appendProblem(b []byte) []byte {
	return appendRetryAfter(d.appendViolated(b), d.RetryAfter)
}

// appendViolated appends all of the document but the wait and the end.
func (d *Denial) appendViolated(b []byte) []byte {
	head := headQuota
	if d.Status == http.StatusServiceUnavailable {
		head = headCapacity
	}
	b = strconv.AppendInt(append(b, head...), int64(d.status()), 10)
	b = append(b, `,"violated-policies":[`...)
	some := false
	for i := range d.Rules {
		if v := &d.Rules[i]; !v.private { // private ones are those of a Denial that was made by hand
			b, some = appendJSON(appendComma(b, some), v.Rule), true
		}
	}
	b = append(b, ']')
	if d.Status == http.StatusServiceUnavailable {
		return b // no limit was violated
	}
	return d.appendLimits(b)
}

func (d *Denial) appendLimits(b []byte) []byte {
	some := false
	for i := range d.Rules {
		v := &d.Rules[i]
		if v.private || v.untold || v.Limit.Window == 0 { // a zero Limit is one of a Denial that was made by hand
			continue
		}
		if !some {
			b = append(b, `,"limits":[`...)
		}
		b = append(appendComma(b, some), `{"policy":`...)
		b = strconv.AppendInt(append(appendJSON(b, v.Rule), `,"quota":`...), v.Limit.Requests, 10)
		if v.inFlight {
			b = append(b, `,"quota_unit":"concurrent-requests"}`...)
		} else {
			b = append(strconv.AppendInt(append(b, `,"window":`...), fields.Seconds(v.Limit.Window), 10), '}')
		}
		some = true
	}
	if some {
		b = append(b, ']')
	}
	return b
}

// appendRetryAfter appends the wait that Retry-After tells, and the end of the document.
func appendRetryAfter(b []byte, wait time.Duration) []byte {
	if wait != limiter.Never {
		b = strconv.AppendInt(append(b, `,"retry_after":`...), fields.RetryAfterSeconds(wait), 10)
	}
	return append(b, '}')
}

func appendComma(b []byte, more bool) []byte {
	if more {
		return append(b, ',')
	}
	return b
}

// appendJSON appends a string. Rule names seldom need an escape, and then this saves two allocations a refusal.
func appendJSON(b []byte, s string) []byte {
	if !plainJSON(s) {
		escaped, _ := json.Marshal(s) // a string always has a JSON form
		return append(b, escaped...)
	}
	b = append(append(b, '"'), s...)
	return append(b, '"')
}

func plainJSON(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune(`"\<>&`, r) })
}
