package metrics

import (
	"sync"
	"sync/atomic"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

const (
	results = int(httplimit.ResultClosed) + 1
	sources = int(httplimit.SourceLocal) + 1
)

// ruleID is what rules are told apart by.
type ruleID struct{ namespace, name string }

// rule has the counters of one rule.
type rule struct {
	ruleID
	index int    // in table.list
	cells []cell // one for each stripe
}

// cell has a rule's counters of one stripe. Each of them only grows, so that no reader ever sees one shrink. The usual
// cost is 1: it takes one addition and not two.
type cell struct {
	ones     [results][sources]atomic.Uint64 // decisions of which a cost of 1 is told
	others   [results][sources]atomic.Uint64 // all other decisions
	near     atomic.Uint64
	cost     [results]atomic.Uint64 // of others, and of Spend
	refunded [results]atomic.Uint64
	_        [64]byte // no two cells share a cache line
}

// count counts a decision about a request that has passed or not. What a rule allowed was not charged where another one
// refused the request.
func (c *cell) count(o *httplimit.Observed, passed bool) {
	result, source := o.Result, o.Source
	if int(result) >= results || int(source) >= sources {
		return // of a later version of httplimit
	}
	switch told := passed || result != httplimit.ResultAllowed; {
	case told && o.Cost == 1:
		c.ones[result][source].Add(1)
	case told:
		c.others[result][source].Add(1)
		c.cost[result].Add(bounded(o.Cost))
	default:
		c.others[result][source].Add(1)
	}
	if result == httplimit.ResultAllowed && nearLimit(o) {
		c.near.Add(1)
	}
}

// nearLimit reports whether under a fifth of the limit is left. Of a local decision it is not known: the Limit is the
// whole one, and Remaining that of this process's share.
func nearLimit(o *httplimit.Observed) bool {
	return o.Remaining*5 < o.Limit.Capacity() && o.Source != httplimit.SourceLocal
}

func (c *cell) change(change *httplimit.CostChange) {
	switch {
	case int(change.Result) >= results:
	case change.Units > 0:
		c.cost[change.Result].Add(bounded(change.Units))
	case change.Units < 0:
		c.refunded[change.Result].Add(bounded(-change.Units))
	}
}

// bounded returns n as no counter can count more of: clients may choose their cost, and must not wrap a sum around.
func bounded(n int64) uint64 { return uint64(max(0, min(n, limiter.MaxCount))) }

// ruleTable finds the counters of rules. It is read without a lock and grows by a copy.
type ruleTable struct {
	stripes int
	table   atomic.Pointer[table]
	growing sync.Mutex
}

type table struct {
	list []*rule // in the order in which they were first seen, mostly that of the Config
	byID map[ruleID]*rule
}

// nearby is how many rules are compared before the map is asked, which takes as long as some ten comparisons.
const nearby = 8

func (t *ruleTable) init(stripes int) {
	t.stripes = stripes
	t.table.Store(new(table))
}

// find returns the counters of a rule, and where its successor in the Config is likely to be. from is what the call for
// the rule before it has returned, 0 for the first.
func (t *ruleTable) find(namespace, name string, from int) (r *rule, next int) {
	known := t.table.Load()
	for n, i := 0, from; n < min(nearby, len(known.list)); n++ {
		if i >= len(known.list) {
			i = 0
		}
		r = known.list[i]
		i++
		if r.name == name && r.namespace == namespace {
			return r, i
		}
	}
	id := ruleID{namespace, name}
	if r = known.byID[id]; r == nil {
		r = t.add(id)
	}
	return r, r.index + 1
}

func (t *ruleTable) add(id ruleID) *rule {
	t.growing.Lock()
	defer t.growing.Unlock()
	known := t.table.Load()
	if r := known.byID[id]; r != nil {
		return r
	}
	r := &rule{id, len(known.list), make([]cell, t.stripes)}
	grown := &table{make([]*rule, 0, len(known.list)+1), make(map[ruleID]*rule, len(known.list)+1)}
	grown.list = append(append(grown.list, known.list...), r)
	for _, r := range grown.list {
		grown.byID[r.ruleID] = r
	}
	t.table.Store(grown)
	return r
}
