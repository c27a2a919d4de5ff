package httplimit

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// Outcome is the decision on one request, before anything was written. It is used by one goroutine and handed back
// with Settle, whatever it says.
type Outcome struct {
	m       *Middleware
	s       *settings // that decided and will settle, also if another one is in force by then; nil: nothing applied
	ctx     context.Context
	items   []item
	charges []limiter.Charge // one an item
	live    bool             // until Settle
	status  int              // 0 lets the request pass
	retry   time.Duration    // of a 503
	ledger  *ledger          // what outlives the Outcome; only with Expose

	wire     wire
	verdicts []Verdict
	request  httpRequest // of Handler and CheckHTTP, kept here so that it is not allocated
	foreign  foreignRequest
}

// item is a rule that applies to the request.
type item struct {
	rule   *rule
	source Source
	spent  bool
	listed bool          // fields tell of it
	whole  limiter.Limit // that which holds, where this process decided by its share: only then it is not the charge's
}

// outcomes keeps their slices: a decision allocates nothing.
var outcomes = sync.Pool{New: func() any { return new(Outcome) }}

// Check decides on a request and writes nothing: it is for adapters, which set the Fields, and then either answer with
// the Denial or call the handler, and in both cases call Settle. It never returns nil.
func (m *Middleware) Check(r Request) *Outcome {
	o := outcomes.Get().(*Outcome)
	o.foreign.Request = r
	o.check(m, &o.foreign)
	o.foreign = foreignRequest{}
	return o
}

// CheckHTTP is Check for frameworks that stand on net/http: r is the request and route the pattern that they matched it
// with. A KeyFunc, When, Cost or LimitFunc is called with a copy of r whose context has value under key; it is made only
// for those. value must not be nil.
func (m *Middleware) CheckHTTP(r *http.Request, route string, key, value any) *Outcome {
	o := outcomes.Get().(*Outcome)
	h := &o.request
	h.r, h.value, h.key, h.route = r, value, key, route
	o.check(m, h)
	return o
}

func (o *Outcome) check(m *Middleware, r Request) {
	o.live, o.ctx = true, r.Context()
	s := m.settings.Load()
	if o.s != s || o.m != m {
		o.m, o.s = m, s // seldom, as below: a pointer into old memory is dear to write while the garbage collector runs
	}
	if s == nil || !s.countPreflight && preflight(r) {
		return
	}
	o.makeRoom(len(s.rules))
	for i := range s.rules {
		rule, next := &s.rules[i], len(o.items)
		if rule.charge(&o.charges[:next+1][next], r, m.journal) {
			o.charges = o.charges[:next+1]
			o.items = o.items[:next+1]
			it := &o.items[next]
			if it.rule != rule {
				it.rule = rule
			}
			it.source, it.spent = SourceStore, false
		}
	}
	if len(o.items) == 0 {
		return
	}
	o.decide()
	if o.status == 0 && r != Request(&o.request) {
		o.ownKeys()
	}
	if s.expose && o.status == 0 {
		o.ledger = newLedger(o)
	}
	o.compose()
}

// makeRoom sees to it that n rules fit.
func (o *Outcome) makeRoom(n int) {
	if cap(o.items) < n || cap(o.charges) < n {
		o.items, o.charges = make([]item, 0, n), make([]limiter.Charge, 0, n)
	}
}

// decide asks the store, and the rules' policies if it does not know.
func (o *Outcome) decide() {
	var began time.Time
	if o.s.observer != nil {
		began = time.Now()
	}
	taken, err := o.s.store.Take(o.ctx, o.charges)
	switch {
	case o.ctx.Err() != nil: // also where the decision was faster: nobody waits for the handler, and what is spent stays so
		o.status = statusClientClosed
		return
	case err == nil:
		o.judged(taken)
	default:
		o.undecided(err)
	}
	if o.s.observer != nil {
		o.observe(time.Since(began))
	}
}

func (o *Outcome) judged(taken bool) {
	for i := range o.items {
		it := &o.items[i]
		it.rule.state.health.succeeded(o.m.journal, it.rule)
		it.spent = taken && o.charges[i].Allowed
		if !o.charges[i].Allowed {
			it.rule.refused(o.charges[i].RetryAfter, o.m.journal)
		}
		switch {
		case o.charges[i].Cached:
			it.source = SourceCache // its At is that of an earlier refusal, or 0
		case o.charges[i].At%laterLooks == 0:
			it.rule.keys.warnings.lookAgain()
		}
	}
	if !taken {
		o.status = http.StatusTooManyRequests
	}
}

// ownKeys copies the keys that Settle or Spend will need: those of a framework may lie in a buffer that is overwritten
// when Check has returned.
func (o *Outcome) ownKeys() {
	for i := range o.items {
		if o.s.expose || o.items[i].rule.CountStatus != nil {
			o.charges[i].Key = strings.Clone(o.charges[i].Key)
		}
	}
}

// limit is the limit that holds for a rule.
func (o *Outcome) limit(i int) *limiter.Limit {
	if it := &o.items[i]; it.source == SourceLocal {
		return &it.whole
	}
	return &o.charges[i].Limit
}

// Exposes tells whether Context is another one than the request's, so that the handler has to be given it.
func (o *Outcome) Exposes() bool { return o.ledger != nil }

// Context returns the context for the handler. With Config.Expose it carries what [Verdicts] and [Spend] need, also after
// Settle; else it is the request's, see [Outcome.Exposes].
func (o *Outcome) Context() context.Context {
	if o.ledger == nil {
		return o.ctx
	}
	return context.WithValue(o.ctx, ledgerKey{}, o.ledger)
}
