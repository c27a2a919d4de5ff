package httplimit

import (
	"context"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
)

// CostObserver is an [Observer] that is also told what was charged and given back after a request was decided: by
// [Spend], for CountStatus, and the places of InFlight. It is found as Config.Observer and among [Observers]. What is
// said of Observe holds for ObserveCost: it is called in the goroutine that spends or gives back, by many at once.
type CostObserver interface {
	Observer
	// ObserveCost is told once for each rule when the store has done it; what the store did not do, as far as anybody
	// knows, is not told. ctx has the values of the request's context, and does not end with it.
	ObserveCost(ctx context.Context, c CostChange)
}

// CostChange is units that were charged or given back after a request was decided. Its strings may be kept.
type CostChange struct {
	Namespace string // that of the Config
	Rule      string // its name
	Result    Result // what the rule had said of the request
	// Units is above 0 for units charged by Spend, below 0 for units given back: those that were handed to the store,
	// whether or not the window in which they were charged was over by then. Never 0.
	Units int64
}

// costObserver returns the CostObserver among o, nil if there is none.
func costObserver(o Observer) CostObserver {
	all, several := o.(observers)
	if !several {
		one, _ := o.(CostObserver)
		return one
	}
	var told costObservers
	for _, one := range all {
		if c := costObserver(one); c != nil {
			told = append(told, c)
		}
	}
	if len(told) == 0 {
		return nil
	}
	return told
}

// costObservers are the CostObservers among several Observers.
type costObservers []CostObserver

func (all costObservers) Observe(ctx context.Context, o *Observation) {
	for _, one := range all {
		one.Observe(ctx, o)
	}
}

func (all costObservers) ObserveCost(ctx context.Context, c CostChange) {
	for _, one := range all {
		one.ObserveCost(ctx, c)
	}
}

// observeRefunds tells what the store has taken back: the charges that it was handed.
func (d *decision) observeRefunds(ctx context.Context, refunds []limiter.Charge) {
	if d.s.costs == nil {
		return
	}
	for i := range d.rules {
		units := int64(0)
		for j := range refunds {
			if refunds[j].Scope == d.rules[i].scope {
				units += refunds[j].Cost
			}
		}
		d.s.observeCost(ctx, d.rules[i].Name, d.result(i), units)
	}
}

// observeCost tells a change of what one rule has charged.
func (s *settings) observeCost(ctx context.Context, rule string, result Result, units int64) {
	if s.costs != nil && units != 0 {
		s.costs.ObserveCost(ctx, CostChange{Namespace: s.namespace, Rule: rule, Result: result, Units: units})
	}
}

// isRemote reports whether a store is none in memory, under whatever wrappers.
func isRemote(store limiter.Store) bool {
	for range maxWrappers {
		wrapper, wraps := store.(interface{ Unwrap() limiter.Store })
		if !wraps {
			break
		}
		store = wrapper.Unwrap()
	}
	_, inMemory := store.(*memstore.Store)
	return !inMemory
}

// maxWrappers is more than anybody puts around a store. One that unwraps to itself ends the search, too.
const maxWrappers = 8
