package httplimit

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// decision is what the rules say of one request, or of one call of Allow or Peek. It belongs to one goroutine.
type decision struct {
	m       *Middleware
	s       *settings // that decided and will refund, also if another configuration is in force by then; nil: no rules
	ctx     context.Context
	quiet   bool // it is a look that warns of nothing and leaves no trace
	rules   []appliedRule
	charges []limiter.Charge // one for each of rules

	preflight  bool          // the request is a CORS preflight
	asked      time.Duration // what the store took, if there is an Observer; 0 where it was not asked
	at         time.Duration // when that was, after m was made; 0: there is no Observer, or no rule applied
	status     int           // 0: the request passes
	retryAfter time.Duration // the longest wait of the violated rules, or that of a 503
	err        error         // why nothing could be decided
	sample     uint32        // counts the uses of this pooled memory, from a random number
}

// appliedRule is a rule that applies to the request.
type appliedRule struct {
	*rule
	kind      keyKind
	shadow    bool // it refuses this client nothing: it is Shadow, or the client is outside of its Percent
	source    Source
	undecided Result        // with SourceNone: what became of the request
	whole     limiter.Limit // with SourceLocal: the limit of which the charge has this process's share
	spent     bool          // the charge took units that can be refunded
	violated  bool          // the rule refused the request
	unjudged  bool          // the request was refused from memory before this rule was asked
	banned    bool          // because the client is banned; it means nothing of a rule without a Ban
}

// Decisions are reused with what an earlier request left in them, and pointers are written only where they change: else
// the write barriers of a running garbage collection took a fifth of a request's time.

// begin makes d ready for the decision of m on a request by s.
func (d *decision) begin(ctx context.Context, m *Middleware, s *settings) {
	d.ctx = ctx
	if d.s != s || d.m != m {
		d.m, d.s = m, s
	}
}

// collect fills in the charges of the rules that apply to r.
func (d *decision) collect(r Request) {
	if most := len(d.s.rules); cap(d.rules) < most {
		d.rules, d.charges = make([]appliedRule, 0, most), make([]limiter.Charge, 0, most)
	}
	if d.sample++; d.sample%sampleEvery == 0 {
		d.s.resample()
	}
	d.preflight = isPreflight(r)
	for i := range d.s.rules {
		rule, n := &d.s.rules[i], len(d.rules)
		kind, applies := rule.fillCharge(&d.charges[:n+1][n], r, d.preflight, d.m.logger)
		if !applies {
			continue
		}
		d.rules, d.charges = d.rules[:n+1], d.charges[:n+1]
		if d.rules[n].rule != rule {
			d.rules[n].rule = rule
		}
		d.rules[n].shadow = d.charges[n].Mode == limiter.Shadow
		d.rules[n].kind = kind
	}
}

// take asks the store about the charges and, where it cannot decide, applies the rules' policies. It is the one way to
// a decision: for requests, Allow and Peek. ctx is that of the request without its end.
func (d *decision) take(ctx context.Context) {
	var began time.Duration
	if d.s.observer != nil {
		began = time.Since(d.m.made) // half the price of time.Now
	}
	if d.s.bans {
		d.addBans()
	}
	taken, err := d.m.askStore(ctx, d.s.store, d.charges)
	if d.at = began; d.s.observer != nil && (err != nil || taken || !d.charges[0].Cached) { // not from memory
		d.at = time.Since(d.m.made)
		d.asked = max(1, d.at-began)
	}
	if d.s.inFlight {
		for i := range d.rules {
			d.rules[i].waitForPlace(&d.charges[i])
		}
	}
	if d.s.bans {
		d.takeBans(err == nil)
	}
	if err == nil {
		d.accept(taken)
	} else {
		d.fallBack(ctx, err)
	}
	if d.s.bans && err == nil && !taken {
		d.strike(ctx)
	}
}

// accept takes in what the store decided. The log comes last: should it panic, it is known by then what the request has
// spent.
func (d *decision) accept(taken bool) {
	for i := range d.rules {
		r, c := &d.rules[i], &d.charges[i]
		r.source = SourceStore
		if c.Cached {
			r.source = SourceCache
		}
		d.judged(r, c, taken)
	}
	if !taken {
		d.status = http.StatusTooManyRequests
	}
	for i := range d.rules {
		r, c := &d.rules[i], &d.charges[i]
		if r.state.health.failing.Load() != nil && !d.quiet {
			r.state.health.succeeded(d.m.logger, r.rule)
		}
		if !c.Allowed && c.Mode != limiter.Peek {
			d.reportRefusal(r, c)
		}
	}
}

// judged takes in what a store, taken or not, says of one charge. Of several violated rules the longest wait counts:
// without other traffic a rule that allows the request goes on doing so.
func (d *decision) judged(r *appliedRule, c *limiter.Charge, taken bool) {
	r.unjudged = !taken && c.Cached && c.Allowed
	r.spent = taken && c.Allowed
	r.violated = !taken && !c.Allowed && c.Mode == limiter.Enforce
	if r.violated {
		d.retryAfter = max(d.retryAfter, c.RetryAfter)
		if d.preflight {
			r.keys.warnings.preflightRefused.raise(r.Name)
		}
	}
}

// reportRefusal logs what operators should know of a refusal.
func (d *decision) reportRefusal(r *appliedRule, c *limiter.Charge) {
	if r.shadow {
		r.state.shadow.refuse(d.m.logger, r.Name)
	}
	if c.RetryAfter == limiter.Never && c.Limit.Requests > 0 { // a limit of 0 is meant
		d.m.logger.warnOnce(r.Name, "a request can never pass", errTooCostly)
	}
}

var errTooCostly = errors.New("its Cost is above what the limit allows at once")

func (d *decision) dropRules() {
	for i := range d.charges {
		d.charges[i].Key = "" // holds on to no memory of the request; the other strings are the configuration's
	}
	d.rules, d.charges = d.rules[:0], d.charges[:0]
}

// verdict returns what rule i says.
func (d *decision) verdict(i int) Verdict {
	r, c := &d.rules[i], &d.charges[i]
	v := Verdict{
		Rule: r.Name, Limit: c.Limit, Cost: c.Cost, Source: r.source, Decision: c.Decision,
		private: r.Private, shadow: r.shadow, inFlight: r.InFlight, untold: d.s.headers == NoHeaders,
	}
	if r.source == SourceLocal {
		v.Limit = r.whole
	}
	if r.unjudged {
		v.Source = SourceNone
	}
	return v
}

// clear forgets the request and keeps the memory for another one.
func (d *decision) clear() {
	d.dropRules()
	d.ctx, d.status, d.retryAfter, d.asked, d.at = nil, 0, 0, 0, 0 // m and s stay, also because pools are emptied
	if d.err != nil {
		d.err = nil
	}
}
