package httplimit

import (
	"net/http"
	"time"

	"github.com/httplimit/httplimit/limiter"
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
	ResultShadowRefused               // would have been refused were the rule not on trial
	ResultOpen                        // passed by this rule undecided, the store being away; another one may have answered 503
	ResultClosed                      // 503: the store was away, the policy is FailClosed
)

// String returns a name that is fit for a metric's label.
func (r Result) String() string {
	return name(int(r), "allowed", "refused", "shadow-refused", "open", "closed")
}

// see fills in the Result.
func (o *Observation) see(r *rule, c *limiter.Charge, unavailable bool) {
	switch {
	case o.Source == SourceNone && unavailable && r.closes():
		o.Result = ResultClosed
	case o.Source == SourceNone:
		o.Result = ResultOpen
	case c.Allowed:
		o.Result = ResultAllowed
	case r.Shadow:
		o.Result = ResultShadowRefused
	default:
		o.Result = ResultRefused
	}
}

// Source is who decided.
type Source uint8

const (
	SourceStore Source = iota // the store
	SourceCache               // the store's deny cache, without a trip
	SourceLocal               // this process, by FailLocal
	SourceNone                // nobody: Result is ResultOpen or ResultClosed
)

// String returns a name that is fit for a metric's label.
func (s Source) String() string { return name(int(s), "store", "cache", "local", "none") }

func name(i int, names ...string) string {
	if i < len(names) {
		return names[i]
	}
	return "unknown"
}

// observe reports to the Observer.
func (o *Outcome) observe(took time.Duration) {
	for i := range o.items {
		it := &o.items[i]
		seen := Observation{Rule: it.rule.name, Source: it.source, Cost: o.charges[i].Cost, Store: took}
		seen.see(it.rule, &o.charges[i], o.status == http.StatusServiceUnavailable)
		o.s.observer.Observe(seen)
	}
}
