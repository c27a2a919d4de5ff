package metrics

import (
	"cmp"
	"slices"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// Snapshot is what was counted up to one moment, and how things are then. Under load, counters that belong together may
// differ by the requests that are being counted while it is made. It is the caller's.
type Snapshot struct {
	Requests Requests
	// StoreOK are the times that remote stores took to decide, StoreFailed those after which they could not. Each request
	// that asked is one, however many rules it has, and so is each Middleware.Allow. Stores in memory are not in it: to
	// ask them is no call.
	StoreOK, StoreFailed Durations
	Rules                []Rule  // those watched or seen, by Namespace and Name
	Stores               []Store // those of watched Middlewares, in the order in which these were given to Watch
}

// Requests counts requests by what became of them: each once for each Middleware that it reached, also if no rule
// applied to it. Middleware.Allow is no request of its own.
type Requests struct {
	Passed      uint64 // to the handler
	Refused     uint64 // with 429
	Unavailable uint64 // answered 503
}

// Durations is a histogram of times.
type Durations struct {
	Counts []uint64 // one for each bound of StoreBuckets and one for what is longer; each has its own bucket only
	Sum    time.Duration
}

// Count returns the number of times.
func (d Durations) Count() (n uint64) {
	for _, count := range d.Counts {
		n += count
	}
	return n
}

// Rule is what one rule decided. Rules of one Namespace and Name in several Middlewares are one.
type Rule struct {
	Namespace, Name string

	// Decisions are ordered by Result and Source. Those that there were none of are left out, but for ResultAllowed and
	// what the refusals of a watched rule are, by the store: so that the first one is seen as an increase.
	Decisions []Decisions
	Costs     []Cost // for each Result of Decisions, and others that Spend charged, by Result
	// NearLimit counts the decisions with ResultAllowed after which under a fifth of the limit was left. Decisions by
	// SourceLocal are not in it: of those only what is left of this process's share is known.
	NearLimit uint64

	// Limits are those in force, each once: Limit and Plans of the rule. Those that only a LimitFunc knows are not in it.
	Limits []limiter.Limit
	// Policies are those in force, each once, by their number.
	Policies []Policy
}

// Decisions counts decisions.
type Decisions struct {
	Result httplimit.Result
	Source httplimit.Source
	Count  uint64
}

// Cost counts units by what was decided about them. Those of ResultAllowed were charged: where another rule refused the
// request, what this one allowed is not in it. Those of other results were asked for, and not charged by the request.
type Cost struct {
	Result   httplimit.Result
	Units    uint64 // of requests and of Spend, before what was given back
	Refunded uint64 // given back by Spend, for CountStatus, and by InFlight when a request has ended
}

// Policy is what a rule does while its store cannot decide.
type Policy struct {
	Failure  httplimit.FailurePolicy
	Degraded bool // the store could not decide lately, see Middleware.Health
}

// Snapshot reads all counters, and asks the watched Middlewares and their stores, which ask no server. It does not keep
// anybody from counting meanwhile.
func (c *Counters) Snapshot() Snapshot {
	var s Snapshot
	if !c.made() {
		return s
	}
	for i := range c.totals {
		c.totals[i].addTo(&s)
	}
	watched := c.inForce()
	for _, r := range c.rules.table.Load().list {
		watched.rule(r.ruleID).read(r)
	}
	for _, r := range watched.rules {
		s.Rules = append(s.Rules, r.finish())
	}
	slices.SortFunc(s.Rules, func(a, b Rule) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	s.Stores = watched.stores.list
	return s
}

func (t *total) addTo(s *Snapshot) {
	s.Requests.Passed += t.passed.Load()
	s.Requests.Refused += t.refused.Load()
	s.Requests.Unavailable += t.unavailable.Load()
	t.ok.addTo(&s.StoreOK)
	t.failed.addTo(&s.StoreFailed)
}

func (d *durations) addTo(sum *Durations) {
	if sum.Counts == nil {
		sum.Counts = make([]uint64, len(d.counts))
	}
	for i := range d.counts {
		sum.Counts[i] += d.counts[i].Load()
	}
	sum.Sum += time.Duration(d.sum.Load())
}
