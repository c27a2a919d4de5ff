package httplimit

import (
	"context"
	"fmt"
	"sync"

	"github.com/httplimit/httplimit/limiter"
)

type ledgerKey struct{}

// ledger is what the handler can learn of a request's decisions and add to them. It outlives the Outcome. Safe for
// concurrent use.
type ledger struct {
	outer *ledger // of a Middleware that the request passed before
	m     *Middleware
	s     *settings

	mu      sync.Mutex
	entries []entry
}

type entry struct {
	verdict Verdict
	rule    *rule
	charge  limiter.Charge
	source  Source
	spends  []limiter.Charge // what Spend added
}

func newLedger(o *Outcome) *ledger {
	l := &ledger{m: o.m, s: o.s, entries: make([]entry, len(o.items))}
	l.outer, _ = o.ctx.Value(ledgerKey{}).(*ledger)
	for i := range o.items {
		l.entries[i] = entry{verdict: o.verdict(i), rule: o.items[i].rule, charge: o.charges[i], source: o.items[i].source}
	}
	return l
}

// Verdicts returns what the rules said of the request with this context: those of every Middleware with Config.Expose that
// it passed, outermost first. What was added with [Spend] is in it. Nil where there is none.
func Verdicts(ctx context.Context) []Verdict {
	l, _ := ctx.Value(ledgerKey{}).(*ledger)
	return l.verdicts()
}

func (l *ledger) verdicts() []Verdict {
	if l == nil {
		return nil
	}
	all := l.outer.verdicts()
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.entries {
		all = append(all, l.entries[i].verdict)
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
	innermost, _ := ctx.Value(ledgerKey{}).(*ledger)
	if innermost == nil {
		return fmt.Errorf("httplimit: Spend for rule %q: this context is not that of a request that passed a Middleware with Config.Expose", rule)
	}
	for l := innermost; l != nil; l = l.outer {
		for i := range l.entries {
			if l.entries[i].rule.name == rule {
				return l.spend(context.WithoutCancel(ctx), i, n)
			}
		}
	}
	return fmt.Errorf("httplimit: no rule %q applied to this request", rule)
}

func (l *ledger) spend(ctx context.Context, i int, n int64) error {
	e := &l.entries[i]
	charge := e.charge // where and against which limit; never written
	n = min(n, limiter.MaxCount)
	charge.Cost, charge.Mode, charge.State = n, limiter.Force, limiter.State{}
	store := l.s.store
	if e.source == SourceLocal {
		store = l.m.local()
	}
	batch := []limiter.Charge{charge}
	if _, err := store.Take(ctx, batch); err != nil {
		return fmt.Errorf("httplimit: rule %q: %w", e.rule.name, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	// A counter that is full took less, and no more can be given back.
	batch[0].Cost = min(n, limiter.MaxCount-min(batch[0].Current, limiter.MaxCount))
	e.verdict.Cost = min(e.verdict.Cost+n, limiter.MaxCount)
	e.verdict.Remaining, e.verdict.ResetAfter = batch[0].Remaining, batch[0].ResetAfter
	if e.rule.CountStatus != nil {
		e.spends = append(e.spends, batch[0])
	}
	return nil
}

// spends returns what Spend has added to a rule so far.
func (l *ledger) spends(rule string) []limiter.Charge {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.entries {
		if l.entries[i].rule.name == rule {
			return append([]limiter.Charge(nil), l.entries[i].spends...)
		}
	}
	return nil
}
