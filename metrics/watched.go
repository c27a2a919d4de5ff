package metrics

import (
	"slices"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// inForce is what is known of the watched Middlewares at one moment, and of the rules that were seen.
type inForce struct {
	rules  map[ruleID]*ruleReading
	stores storeList
}

// ruleReading is a Rule that is being put together.
type ruleReading struct {
	rule               Rule
	enforced, shadowed bool // watched as such
	counts             [results][sources]uint64
	cost, refunded     [results]uint64
}

// inForce asks the watched Middlewares.
func (c *Counters) inForce() *inForce {
	c.mu.Lock()
	watched := slices.Clone(c.watched)
	c.mu.Unlock()
	f := &inForce{rules: make(map[ruleID]*ruleReading)}
	for _, m := range watched {
		cfg := m.Config()
		if len(cfg.Rules) == 0 {
			continue // the zero Middleware
		}
		degraded := make(map[string]bool)
		for _, h := range m.Health() {
			degraded[h.Rule] = true
		}
		for i := range cfg.Rules {
			r := &cfg.Rules[i]
			f.rule(ruleID{cfg.Namespace, r.Name}).watch(r, degraded[r.Name])
		}
		f.stores.add(cfg.Store)
	}
	f.stores.label()
	return f
}

// rule returns the reading of a rule, an empty one if there is none.
func (f *inForce) rule(id ruleID) *ruleReading {
	r := f.rules[id]
	if r == nil {
		r = &ruleReading{rule: Rule{Namespace: id.namespace, Name: id.name}}
		f.rules[id] = r
	}
	return r
}

// watch takes in a rule of a watched Middleware.
func (r *ruleReading) watch(rule *httplimit.Rule, degraded bool) {
	r.enforced = r.enforced || !rule.Shadow
	r.shadowed = r.shadowed || rule.Shadow || rule.Percent > 0 && rule.Percent < 100
	for _, l := range append([]limiter.Limit{rule.Limit}, rule.Plans...) {
		same := func(other limiter.Limit) bool { return other.String() == l.String() }
		if !slices.ContainsFunc(r.rule.Limits, same) { // series are told apart by the text
			r.rule.Limits = append(r.rule.Limits, l)
		}
	}
	at, known := slices.BinarySearchFunc(r.rule.Policies, rule.Failure,
		func(p Policy, f httplimit.FailurePolicy) int { return int(p.Failure) - int(f) })
	if !known {
		r.rule.Policies = slices.Insert(r.rule.Policies, at, Policy{Failure: rule.Failure})
	}
	p := &r.rule.Policies[at]
	p.Degraded = p.Degraded || degraded
}

// read adds what was counted of the rule.
func (r *ruleReading) read(counted *rule) {
	for i := range counted.cells {
		c := &counted.cells[i]
		r.rule.NearLimit += c.near.Load()
		for result := range results {
			for source := range sources {
				ones := c.ones[result][source].Load()
				r.counts[result][source] += ones + c.others[result][source].Load()
				r.cost[result] += ones
			}
			r.cost[result] += c.cost[result].Load()
			r.refunded[result] += c.refunded[result].Load()
		}
	}
}

// finish returns what was read.
func (r *ruleReading) finish() Rule {
	for result := range results {
		told := false
		for source := range sources {
			n := r.counts[result][source]
			if n == 0 && !r.expects(httplimit.Result(result), httplimit.Source(source)) {
				continue
			}
			told = true
			r.rule.Decisions = append(r.rule.Decisions, Decisions{httplimit.Result(result), httplimit.Source(source), n})
		}
		if told || r.cost[result] > 0 || r.refunded[result] > 0 {
			r.rule.Costs = append(r.rule.Costs, Cost{httplimit.Result(result), r.cost[result], r.refunded[result]})
		}
	}
	return r.rule
}

// expects reports whether decisions are told of although there were none.
func (r *ruleReading) expects(result httplimit.Result, source httplimit.Source) bool {
	if source != httplimit.SourceStore {
		return false
	}
	switch result {
	case httplimit.ResultAllowed:
		return r.enforced || r.shadowed
	case httplimit.ResultRefused:
		return r.enforced
	case httplimit.ResultShadowRefused:
		return r.shadowed
	}
	return false
}
