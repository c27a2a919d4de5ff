package httplimit

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Denial is a refusal: what a custom answer is made from. OnDeny is given one; [Verdict.Denied] makes one in a handler.
// It owns its Rules and may be kept. Its zero value is no refusal.
type Denial struct {
	// Status is 429, or 503 where a rule with FailClosed applies and the store cannot decide; no other.
	Status int
	// RetryAfter is how long until the request can pass if nobody else spends anything: the longest wait of
	// the violated rules, [limiter.Never] if one of them can never allow it, because the request costs more than
	// its limit allows at once or the limit is 0. With 503, when to try again.
	RetryAfter time.Duration
	// Rules are the violated rules without the Private ones; with 503 the rules with FailClosed, likewise. It is
	// empty where all of them are Private, so that Rules[0] panics: [Denial.Rule] does not.
	Rules []Verdict
}

// ServeHTTP writes the default answer: a problem document (RFC 9457) with the types of
// draft-ietf-httpapi-ratelimit-headers-11, section 5. Retry-After and Cache-Control are set where they are missing, as
// in the answer of a handler that has called [Middleware.Allow]; what the middleware set before it called Config.OnDeny
// stays. A Status of 0 is answered as 429.
func (d Denial) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.setMissing(w.Header())
	body := bodies.Get().(*[]byte)
	defer bodies.Put(body)
	*body = d.appendProblem((*body)[:0])
	serveProblem(w, r, d.status(), []string{problemType}, *body)
}

// MarshalJSON returns the problem document that ServeHTTP writes.
func (d Denial) MarshalJSON() ([]byte, error) {
	const usual = 256 // bytes; with one rule it is about 190
	return d.appendProblem(make([]byte, 0, usual)), nil
}

// bodies keeps buffers for answers: refusals come in floods.
var bodies = sync.Pool{New: func() any { return new([]byte) }}

// denial returns the refusal. It appends the Rules to rules.
func (d *decision) denial(rules []Verdict) Denial {
	for i := range d.rules {
		r := &d.rules[i]
		closed := d.status == http.StatusServiceUnavailable && r.failsClosed()
		if (closed || r.violated) && !r.Private {
			rules = append(rules, d.verdict(i))
		}
	}
	return Denial{Status: d.status, RetryAfter: d.retryAfter, Rules: rules}
}

// deny answers a refused request of Handler, fields included.
func (o *Outcome) deny(w http.ResponseWriter, r *http.Request) {
	defer o.Release()
	contentType := o.fields.Value(problemType)
	o.fields.SetIn(w.Header())
	if onDeny := o.decision.s.onDeny; onDeny != nil {
		onDeny(w, r, o.decision.denial(nil))
		return
	}
	serveProblem(w, r, o.decision.status, contentType, o.Problem())
}

// ServeHTTP answers a refused request as [Denial.ServeHTTP] does.
func (o *Outcome) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	serveProblem(w, r, o.decision.status, o.fields.Value(problemType), o.Problem())
}

// Problem returns the body of the default answer to a refused request, as [Denial.MarshalJSON] does. It is not to be
// written to, and valid until Release.
func (o *Outcome) Problem() []byte {
	if r := o.decision.onlyViolated(); r != nil {
		return r.problem
	}
	d := o.decision.denial(o.verdicts[:0]) // borrowed: nobody else sees this Denial
	o.verdicts = d.Rules
	o.body = d.appendProblem(o.body[:0])
	return slices.Clip(o.body)
}

// onlyViolated returns the rule that alone refused the request, nil if there is none or several.
func (d *decision) onlyViolated() (only *rule) {
	for i := range d.rules {
		if !d.rules[i].violated {
			continue
		}
		if only != nil {
			return nil
		}
		only = d.rules[i].rule
	}
	return only
}

// problemOf returns the body of a refusal by r alone. Many answers are made from it at once.
func problemOf(r *Rule) []byte {
	refusal := Denial{Status: http.StatusTooManyRequests, Rules: []Verdict{{Rule: r.Name, private: r.Private}}}
	return slices.Clip(refusal.appendProblem(nil))
}

const problemType = "application/problem+json"

// serveProblem writes an answer of that body. contentType is the slice to be used as its field.
func serveProblem(w http.ResponseWriter, r *http.Request, status int, contentType []string, body []byte) {
	w.Header()["Content-Type"] = contentType
	closeUnread(w.Header(), r)
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // a client that has left is no fault of ours
	}
}

// CloseUnread sets Connection: close in h, the header of the answer to a refused request r, where [Denial.ServeHTTP]
// would set it: for adapters whose framework writes the answer.
func (o *Outcome) CloseUnread(h http.Header, r *http.Request) { closeUnread(h, r) }

// closeUnread has the server close the connection after a refusal, if it would otherwise read much of the request's
// body before it sends the answer, at the client's pace: net/http reads up to 256 KiB.
func closeUnread(h http.Header, r *http.Request) {
	const little = 64 << 10
	if r.ProtoMajor == 1 && (r.ContentLength < 0 || r.ContentLength > little) {
		h.Set("Connection", "close")
	}
}

const (
	problemQuota    = "https://iana.org/assignments/http-problem-types#quota-exceeded"
	problemCapacity = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"

	headQuota = `{"type":"` + problemQuota +
		`","title":"Request cannot be satisfied as assigned quota has been exceeded","status":`
	headCapacity = `{"type":"` + problemCapacity +
		`","title":"Request cannot be satisfied due to temporary server capacity constraints","status":`
)

// status returns the Status to answer with: net/http panics on a status of 0.
func (d *Denial) status() int {
	if d.Status == 0 {
		return http.StatusTooManyRequests
	}
	return d.Status
}

func (d *Denial) appendProblem(b []byte) []byte {
	head := headQuota
	if d.Status == http.StatusServiceUnavailable {
		head = headCapacity
	}
	b = strconv.AppendInt(append(b, head...), int64(d.status()), 10)
	b = append(b, `,"violated-policies":[`...)
	some := false
	for i := range d.Rules {
		if d.Rules[i].private {
			continue // of a Denial that was made by hand
		}
		if some {
			b = append(b, ',')
		}
		b, some = appendJSON(b, d.Rules[i].Rule), true
	}
	return append(b, `]}`...)
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
