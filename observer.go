package httplimit

import (
	"net/http"
	"time"
)

// Observer is told of decisions, for metrics and logs. It is called in the request's goroutine and by many requests at
// once, so it should be quick. It never sees a key.
type Observer interface {
	// Observe is called once for each rule that applied to a request, and once for each [Middleware.Allow].
	Observe(Observation)
}

// Observation is what one rule did to one request.
type Observation struct {
	Rule   string
	Result Result
	Source Source
	// Cost is what the request was to spend.
	Cost int64
	// Store is how long the store took to decide all rules of the request together.
	Store time.Duration
}

// Result is what became of a request by one rule.
type Result uint8

const (
	ResultAllowed       Result = iota // by this rule; another one may have refused the request
	ResultRefused                     // 429
	ResultShadowRefused               // would have been refused if the rule were not Shadow
	ResultOpen                        // passed undecided, the store was away; another rule may have answered 503
	ResultClosed                      // 503: the store was away, the policy is FailClosed
)

// String returns a name that is fit for a metric's label.
func (r Result) String() string {
	return nameOf(r, "allowed", "refused", "shadow_refused", "open", "closed")
}

// MarshalText implements [encoding.TextMarshaler]: it is String.
func (r Result) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// observe reports what each rule decided, in the time that the store took for all of them.
func (d *decision) observe(observer Observer, took time.Duration) {
	for i := range d.rules {
		r := &d.rules[i]
		observer.Observe(Observation{
			Rule: r.Name, Result: d.result(i), Source: r.source, Cost: d.charges[i].Cost, Store: took,
		})
	}
}

func (d *decision) result(i int) Result {
	r := &d.rules[i]
	switch {
	case r.source == SourceNone && d.status == http.StatusServiceUnavailable && r.failsClosed():
		return ResultClosed
	case r.source == SourceNone:
		return ResultOpen
	case d.charges[i].Allowed:
		return ResultAllowed
	case r.shadow:
		return ResultShadowRefused
	}
	return ResultRefused
}
