package httplimit

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
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
	result  Result
	verdict Verdict
	charge  limiter.Charge // where and against which limit; never written
	spent   spends         // what can still be given back
}

func newExposure(d *decision) *exposure {
	e := &exposure{m: d.m, s: d.s, rules: make([]exposedRule, len(d.rules))}
	e.outer, _ = d.ctx.Value(exposureKey{}).(*exposure)
	for i := range d.rules {
		r := &d.rules[i]
		e.rules[i] = exposedRule{
			rule: r.rule, source: r.source, result: d.result(i), verdict: d.verdict(i), charge: d.charges[i],
		}
		if r.spent {
			e.rules[i].spent.begin(&d.charges[i])
		}
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
// A negative n gives units back, where the most that a request may cost was charged first: at most what the rule has
// charged this request and what Spend has added, less what was given back before. What was added last goes first, each
// part to the window that it was charged to, so nothing is gained where that window is over, and to the store that was
// charged: what was counted in this process during an outage is given back in this process. A TokenBucket has no
// windows: there they are taken off what the key owes by then, whatever was refilled since they were charged. What
// CountStatus refunds is given back once, by Settle or by Spend.
//
// Counts saturate at [limiter.MaxCount]. A TokenBucket holds the fewer units, the longer its window is: 104 million
// with a day. What a counter had no room for was not charged.
//
// It returns an error if the rule did not apply to the request or is InFlight, or if the store could not be reached.
// Units that were to be given back then stay charged and are not given back again, as nobody knows whether the store
// has done it: do not repeat the call, which would give back other units.
//
// On a TokenBucket what is given back after it has been refilled is there once more: where the limit must hold at every
// moment, charge first under a StrictWindow or a SlidingLog.
//
// It goes on when ctx has ended, and after the handler has returned. It is safe for concurrent use.
func Spend(ctx context.Context, rule string, n int64) error {
	innermost, _ := ctx.Value(exposureKey{}).(*exposure)
	if innermost == nil {
		return fmt.Errorf("httplimit: Spend for rule %q: this context is not that of a request that passed a "+
			"Middleware with Config.Expose", rule)
	}
	for e := innermost; e != nil; e = e.outer {
		for i := range e.rules {
			if e.rules[i].rule.Name != rule {
				continue
			}
			if e.rules[i].rule.InFlight {
				return fmt.Errorf("httplimit: Spend for rule %q: %w", rule, errPlaces)
			}
			do := e.spend
			if n < 0 {
				do = e.giveBack
			}
			if err := do(context.WithoutCancel(ctx), &e.rules[i], n); err != nil {
				return fmt.Errorf("httplimit: rule %q: %w", rule, err)
			}
			return nil
		}
	}
	return fmt.Errorf("httplimit: no rule %q applied to this request", rule)
}

func (e *exposure) spend(ctx context.Context, r *exposedRule, n int64) error {
	charge := r.charge
	charge.Cost, charge.Mode, charge.State = min(n, limiter.MaxCount), limiter.Force, limiter.State{}
	batch := []limiter.Charge{charge}
	if _, err := e.m.askStore(ctx, e.store(r), batch); err != nil {
		return err
	}
	e.s.observeCost(ctx, r.rule.Name, r.result, e.charged(r, &batch[0]))
	return nil
}

// charged notes what Spend has charged by c, and returns how many units that were.
func (e *exposure) charged(r *exposedRule, c *limiter.Charge) (n int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	// A counter that is full took less, and no more can be given back.
	most := algorithm.MostUnits(&c.Limit)
	n = min(c.Cost, most-min(c.Current, most))
	r.spent.add(c, n)
	r.verdict.Cost += n
	r.verdict.Remaining, r.verdict.ResetAfter = c.Remaining, c.ResetAfter
	return n
}

// giveBack is Spend for a negative n. The units are reserved before the store is asked.
func (e *exposure) giveBack(ctx context.Context, r *exposedRule, n int64) error {
	batch := e.reserve(r, -max(n, -math.MaxInt64))
	if len(batch) == 0 {
		return nil
	}
	if _, err := e.m.askStore(ctx, e.store(r), batch); err != nil {
		return err
	}
	e.s.observeCost(ctx, r.rule.Name, r.result, e.givenBack(r, batch))
	return nil
}

// givenBack notes what was given back by batch, and returns how many units that were, below 0.
func (e *exposure) givenBack(r *exposedRule, batch []limiter.Charge) (units int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range batch {
		r.verdict.Cost = max(0, r.verdict.Cost+batch[i].Cost)
		units += batch[i].Cost
	}
	last := batch[len(batch)-1]
	r.verdict.Remaining, r.verdict.ResetAfter = last.Remaining, last.ResetAfter
	return units
}

// reserve returns the refunds of up to n units that a rule has charged, which nobody gives back a second time.
func (e *exposure) reserve(r *exposedRule, n int64) []limiter.Charge {
	e.mu.Lock()
	defer e.mu.Unlock()
	return r.spent.take(r.charge, n)
}

// reserveAll returns the refunds of all that rule i has charged and that was not given back yet.
func (e *exposure) reserveAll(i int) []limiter.Charge { return e.reserve(&e.rules[i], math.MaxInt64) }

// store returns where the rule has counted the request.
func (e *exposure) store(r *exposedRule) limiter.Store {
	if r.source == SourceLocal {
		return e.m.local()
	}
	return e.s.store
}
