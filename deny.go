package httplimit

import (
	"net/http"
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

// ServeHTTP writes the default answer: the problem document of MarshalJSON. Retry-After and Cache-Control are set where
// they are missing, as in the answer of a handler that has called [Middleware.Allow]; what the middleware set before it
// called Config.OnDeny stays. A Status of 0 is answered as 429.
func (d Denial) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.setMissing(w.Header())
	body := bodies.Get().(*[]byte)
	defer bodies.Put(body)
	*body = d.appendProblem((*body)[:0])
	serveProblem(w, r, d.status(), []string{problemType}, *body)
}

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

// status returns the Status to answer with: net/http panics on a status of 0.
func (d *Denial) status() int {
	if d.Status == 0 {
		return http.StatusTooManyRequests
	}
	return d.Status
}
