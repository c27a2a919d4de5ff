// Package metrics counts what rate limiting does, for programs that show it: it is what the modules metrics/prometheus
// and metrics/otel read, and it needs the standard library only.
//
// [Counters] is an [httplimit.Observer]. It costs some tens of nanoseconds a decision and allocates nothing: counters
// are found once for each rule and striped over the processors. [Counters.Snapshot] reads them, together with what
// nobody tells an Observer: the limits in force, which rules are degraded, and how the stores are doing, of the
// Middlewares given to [Counters.Watch].
//
//	counters := metrics.New()
//	m, err := httplimit.New(httplimit.Config{Observer: counters, ...})
//	counters.Watch(m)
//	...
//	snapshot := counters.Snapshot()
//
// The names of rules and stores, and the addresses of servers, bound what is counted apart: no key of a client is in
// it, and the size of a Snapshot does not depend on who sends requests.
//
// This package follows the semantic version of its module: fields may be added to its structs, and none is renamed, or
// changes its meaning or unit, without a new major version. That holds for the order of what Snapshot returns, too.
package metrics

import (
	"context"
	"slices"
	"sync"

	"github.com/httplimit/httplimit"
)

// Counters counts decisions. Make it with [New]: a zero value, and nil, count nothing. It is safe for concurrent use,
// starts no goroutine and needs no closing. One may be the Observer of any number of Middlewares, of which those with
// the same Namespace and rule names are counted together.
//
// What was counted stays for as long as the Counters live, also when a [httplimit.Middleware.Reconfigure] removes a
// rule: they only grow.
type Counters struct {
	stripes stripes
	rules   ruleTable
	totals  []total // one for each stripe

	mu      sync.Mutex
	watched []*httplimit.Middleware
}

var _ httplimit.CostObserver = (*Counters)(nil)

// New returns Counters that are all zero.
func New() *Counters {
	c := new(Counters)
	c.totals = make([]total, c.stripes.init())
	c.rules.init(len(c.totals))
	return c
}

// made reports whether New has made c.
func (c *Counters) made() bool { return c != nil && c.totals != nil }

// Watch adds Middlewares to those whose limits, health and stores a [Counters.Snapshot] tells, as they are then, also
// after a Reconfigure. What they decide is counted where the Counters are their Observer, watched or not. One that is
// watched already, and nil, change nothing.
func (c *Counters) Watch(m ...*httplimit.Middleware) {
	if !c.made() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range m {
		if one != nil && !slices.Contains(c.watched, one) {
			c.watched = append(c.watched, one)
		}
	}
}

// Observe implements [httplimit.Observer].
func (c *Counters) Observe(_ context.Context, o *httplimit.Observation) {
	if !c.made() {
		return
	}
	token := c.stripes.take()
	t := &c.totals[token.stripe]
	if o.Request != nil {
		t.request(o.Status)
	}
	at := 0
	for i := range o.Rules {
		one := &o.Rules[i]
		var r *rule
		r, at = c.rules.find(o.Namespace, one.Rule, at)
		r.cells[token.stripe].count(one, o.Status == 0)
	}
	if o.Store > 0 && o.Remote {
		t.store(o.Store, o.StoreFailed())
	}
	c.stripes.give(token)
}

// ObserveCost implements [httplimit.CostObserver].
func (c *Counters) ObserveCost(_ context.Context, change httplimit.CostChange) {
	if !c.made() {
		return
	}
	token := c.stripes.take()
	r, _ := c.rules.find(change.Namespace, change.Rule, 0)
	r.cells[token.stripe].change(&change)
	c.stripes.give(token)
}
