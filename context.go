package httplimit

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/httplimit/httplimit/limiter"
)

type exposureKey struct{}

// exposure is what the handler can learn of a request's decisions and add to them. It outlives the Outcome. Safe for
// concurrent use.
type exposure struct {
	outer *exposure // of a Middleware that the request passed before
	m     *Middleware
	s     *settings

	mu    sync.Mutex
	rules []exposedRule
}

type exposedRule struct {
	rule    *rule
	source  Source
	verdict Verdict
	charge  limiter.Charge   // where and against which limit; never written
	spends  []limiter.Charge // what Spend added
}

func newExposure(d *decision) *exposure {
	e := &exposure{m: d.m, s: d.s, rules: make([]exposedRule, len(d.rules))}
	e.outer, _ = d.ctx.Value(exposureKey{}).(*exposure)
	for i := range d.rules {
		r := &d.rules[i]
		e.rules[i] = exposedRule{rule: r.rule, source: r.source, verdict: d.verdict(i), charge: d.charges[i]}
	}
	return e
}

// Verdicts returns what the rules said of the request with this context: those of every Middleware with Config.Expose
// that it passed, outermost first. What was added with [Spend] is in it. Nil where there is none.
func Verdicts(ctx context.Context) []Verdict {
	e, _ := ctx.Value(exposureKey{}).(*exposure)
	return e.verdicts()
}

func (e *exposure) verdicts() []Verdict {
	if e == nil {
		return nil
	}
	all := e.outer.verdicts()
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range e.rules {
		all = append(all, e.rules[i].verdict)
	}
	return all
}

// Spend adds n units to what the request with this context was charged by a rule: a cost known only afterwards, such as
// the tokens of an answer or the rows of a result. It is never refused; the client's later requests pay. Needs
// Config.Expose. Of two rules of one name the innermost Middleware's is meant.
//
// Counts saturate at [limiter.MaxCount].
//
// It returns an error if the rule did not apply to the request, if n is negative, or if the store could not be reached.
// It goes on when ctx has ended, and after the handler has returned.
func Spend(ctx context.Context, rule string, n int64) error {
	if n < 0 {
		return fmt.Errorf("httplimit: Spend of %d units, want 0 or more", n)
	}
	innermost, _ := ctx.Value(exposureKey{}).(*exposure)
	if innermost == nil {
		return fmt.Errorf("httplimit: Spend for rule %q: this context is not that of a request that passed a "+
			"Middleware with Config.Expose", rule)
	}
	for e := innermost; e != nil; e = e.outer {
		for i := range e.rules {
			if e.rules[i].rule.Name == rule {
				return e.spend(context.WithoutCancel(ctx), &e.rules[i], n)
			}
		}
	}
	return fmt.Errorf("httplimit: no rule %q applied to this request", rule)
}

func (e *exposure) spend(ctx context.Context, r *exposedRule, n int64) error {
	n = min(n, limiter.MaxCount)
	charge := r.charge
	charge.Cost, charge.Mode, charge.State = n, limiter.Force, limiter.State{}
	store := e.s.store
	if r.source == SourceLocal {
		store = e.m.local()
	}
	batch := []limiter.Charge{charge}
	if _, err := e.m.askStore(ctx, store, batch); err != nil {
		return fmt.Errorf("httplimit: rule %q: %w", r.rule.Name, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	// A counter that is full took less, and no more can be given back.
	batch[0].Cost = min(n, limiter.MaxCount-min(batch[0].Current, limiter.MaxCount))
	r.verdict.Cost = min(r.verdict.Cost+n, limiter.MaxCount)
	r.verdict.Remaining, r.verdict.ResetAfter = batch[0].Remaining, batch[0].ResetAfter
	if r.rule.CountStatus != nil {
		r.spends = append(r.spends, batch[0])
	}
	return nil
}

// spends returns what Spend has added to a rule so far.
func (e *exposure) spends(rule string) []limiter.Charge {
	if e == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range e.rules {
		if e.rules[i].rule.Name == rule {
			return slices.Clone(e.rules[i].spends)
		}
	}
	return nil
}
