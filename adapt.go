package httplimit

import (
	"context"
	"iter"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"

	"github.com/httplimit/httplimit/internal/fields"
)

// Outcome is the decision on one request, before anything was written: for adapters to other frameworks. They set its
// Fields, then answer a refused request or call the handler, and in both cases call Settle. It is used by one
// goroutine.
type Outcome struct {
	decision decision
	exposure *exposure // what outlives the Outcome; nil without Config.Expose
	fields   fields.Builder
	settled  bool
	held     bool // by Hold

	// Memory that is kept for the next request:
	standing []fields.Standing
	verdicts []Verdict
	body     []byte
	own      httpRequest // of Handler and CheckHTTP
	foreign  foreignRequest
}

// outcomes keeps the memory of released Outcomes, so that a decision allocates nothing.
var outcomes = sync.Pool{New: func() any { return &Outcome{decision: decision{sample: rand.Uint32()}} }}

// Check decides on a request and writes nothing. It never returns nil.
//
// The Outcome stays the caller's until [Outcome.Release]: to settle it twice, or to use it late, touches no other
// request.
func (m *Middleware) Check(r Request) *Outcome {
	o := outcomes.Get().(*Outcome)
	o.foreign.Request = r
	o.check(m, &o.foreign, true)
	o.foreign = foreignRequest{}
	return o
}

// CheckHTTP is Check for frameworks that stand on net/http: r is the request and route the pattern that they matched it
// with. A KeyFunc, When, Cost or LimitFunc is called with a copy of r whose context has value under key, and an
// Observer finds it in Observation.Request; it is made only for those. value must not be nil.
func (m *Middleware) CheckHTTP(r *http.Request, route string, key, value any) *Outcome {
	o := outcomes.Get().(*Outcome)
	o.own.r, o.own.value, o.own.key, o.own.route = r, value, key, route
	o.check(m, &o.own, false)
	o.own.handBack()
	return o
}

// check decides on r. borrowed says that strings of r may lie in a buffer of the framework, which overwrites it later.
func (o *Outcome) check(m *Middleware, r Request, borrowed bool) {
	d, s := &o.decision, m.settings.Load()
	d.begin(r.Context(), m, s)
	if s == nil {
		return
	}
	if s.inFlight {
		o.decideHolding(r, borrowed)
	} else {
		o.decide(r, borrowed)
	}
}

// decide is check by a configuration with rules.
func (o *Outcome) decide(r Request, borrowed bool) {
	d := &o.decision
	if d.collect(r); len(d.rules) > 0 {
		d.take(withoutEnd(d.ctx, r))
		if borrowed && d.status == 0 {
			d.keepKeys()
		}
		if d.s.expose && d.status == 0 {
			o.exposure = newExposure(d)
		}
		o.buildFields()
	}
	if d.s.observer != nil {
		d.observe(r)
	}
}

// keepKeys copies the keys that Settle, Hold or Spend will need.
func (d *decision) keepKeys() {
	for i := range d.rules {
		if d.s.expose || d.rules[i].CountStatus != nil || d.rules[i].InFlight {
			d.charges[i].Key = strings.Clone(d.charges[i].Key)
		}
	}
}

// Status returns the status of the refusal, see [Denial]; 0 if the request is not refused.
func (o *Outcome) Status() int { return o.decision.status }

// Denied returns the refusal if the request is refused.
func (o *Outcome) Denied() (Denial, bool) {
	if o.decision.status == 0 {
		return Denial{}, false
	}
	return o.decision.denial(nil), true
}

// Fields returns the header fields to set on the answer, with names in net/http's canonical form. RateLimit and
// RateLimit-Policy are to be added to what other layers wrote, all others replace it: so of several Middlewares all
// rules are seen in RateLimitFields, and those of the innermost in the styles that can describe one rule only. Set them
// before the handler runs.
func (o *Outcome) Fields() iter.Seq2[string, string] { return o.fields.All() }

// SetFields does with net/http's Header what [Outcome.Fields] asks for.
func (o *Outcome) SetFields(h http.Header) { o.fields.SetIn(h) }

// EachField calls set with the name and the value of each of the Fields, for frameworks that copy what they are given:
// value is overwritten soon. adds says that the field is to be added to what other layers wrote.
func (o *Outcome) EachField(set func(name string, value []byte, adds bool)) { o.fields.Each(set) }

// Exposes reports whether Context is another one than the request's, so that the handler has to be given it.
func (o *Outcome) Exposes() bool { return o.exposure != nil }

// Context returns the context for the handler. With Config.Expose it carries what [Verdicts] and [Spend] need, also
// after Settle; else it is the request's, see [Outcome.Exposes].
func (o *Outcome) Context() context.Context {
	if o.exposure == nil {
		return o.decision.ctx
	}
	return context.WithValue(o.decision.ctx, exposureKey{}, o.exposure)
}

// Counts reports whether Settle has to be called when the handler has returned: it needs to know the status, or it
// gives back places that [Outcome.Hold] has not taken over. Where it does not, the Outcome may be settled or released
// before the handler is called.
func (o *Outcome) Counts() bool { return o.holds() || o.countsStatus() }

// countsStatus reports whether Settle needs to know the status.
func (o *Outcome) countsStatus() bool {
	for i := range o.decision.rules {
		if r := &o.decision.rules[i]; r.CountStatus != nil && (r.spent || o.exposure != nil) {
			return true
		}
	}
	return false
}

// Release hands the memory of the Outcome to another request, which saves some allocations. Nothing of the Outcome may
// be used afterwards, and it must not be settled. It is for adapters that can rule that out; all others leave the
// Outcome to the garbage collector. What is not settled before is not refunded.
func (o *Outcome) Release() {
	o.clear()
	o.settled, o.held = false, false
	outcomes.Put(o)
}

// clear forgets the request.
func (o *Outcome) clear() {
	o.decision.clear()
	o.fields.Reset()
	o.own.r = nil
	if o.own.value != nil {
		o.own = httpRequest{}
	}
	if o.exposure != nil {
		o.exposure = nil
	}
}
