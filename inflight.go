package httplimit

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// placeWait is what a refused client is told to wait. Nobody knows when a request will end, and a later one gets no
// place in the meantime.
const placeWait = time.Second

// declareInFlight makes the limits of a rule with InFlight those of StrictWindow, and adds what InFlight cannot stand
// beside.
func (r *rule) declareInFlight(field string, f *faults) {
	switch r.Limit.Algorithm {
	case limiter.SlidingWindow, limiter.StrictWindow: // the first is the zero value, as limiter.PerMinute has it
		r.Limit.Algorithm = limiter.StrictWindow
	default:
		f.add(field+".Limit", "its algorithm is %v and InFlight is set, want %v or none: no other gives back exactly "+
			"what a request has taken", r.Limit.Algorithm, limiter.StrictWindow)
	}
	if r.CountStatus != nil {
		f.add(field+".InFlight", "it is set and CountStatus too, want one of the two: the request's places come back "+
			"whatever its status is")
	}
	for i, plan := range r.Plans {
		if plan.Validate() == nil { // else it is reported as it is
			r.Plans[i] = r.placesOf(plan)
		}
	}
}

// placesOf returns the rule's Limit with the Requests of plan.
func (r *rule) placesOf(plan limiter.Limit) limiter.Limit {
	l := r.Limit
	l.Requests = plan.Requests
	return l
}

// errPlaces is why Allow and Spend do nothing.
var errPlaces = errors.New("it is InFlight: a request's places come back when its handler has returned")

// waitForPlace makes the wait in a decided charge that of a rule with InFlight.
func (r *rule) waitForPlace(c *limiter.Charge) {
	if r.InFlight && c.RetryAfter > 0 && c.RetryAfter != limiter.Never {
		c.RetryAfter = placeWait
	}
}

// Hold takes over the places that the request has under rules with InFlight: leave gives them back, in one call of the
// store, which the caller waits for. It is to be called when the handler has returned, panicked, or ended its
// goroutine; a second call does nothing. leave is nil where the request has no such places.
//
// The Outcome may be settled and released before: so it is for adapters that settle before the handler has returned,
// at a hijack for example. Where Hold is not called, Settle gives the places back.
func (o *Outcome) Hold() (leave func()) {
	if s := o.decision.s; s == nil || !s.inFlight || o.held {
		return nil
	}
	return o.hold()
}

func (o *Outcome) hold() (leave func()) {
	d := &o.decision
	p := &places{m: d.m, s: d.s}
	for i := range d.rules {
		r, c := &d.rules[i], d.charges[i]
		if !r.InFlight || !r.spent || c.Cost == 0 { // see refunds
			continue
		}
		c.Cost, c.Mode = -c.Cost, limiter.Enforce
		if r.source == SourceLocal {
			p.local = append(p.local, c)
		} else {
			p.stored = append(p.stored, c)
		}
	}
	o.held = true
	if p.stored == nil && p.local == nil {
		return nil
	}
	p.ctx = context.WithoutCancel(d.ctx)
	return p.leave
}

// holds reports whether the request has places that Hold has not taken over.
func (o *Outcome) holds() bool {
	d := &o.decision
	if d.s == nil || !d.s.inFlight || o.held {
		return false
	}
	for i := range d.rules {
		if r := &d.rules[i]; r.InFlight && r.spent {
			return true
		}
	}
	return false
}

// decideHolding is decide where the request may hold places. If the Observer or the log panics, nobody else will give
// them back.
func (o *Outcome) decideHolding(r Request, borrowed bool) {
	decided := false
	defer func() {
		if decided {
			return
		}
		if leave := o.Hold(); leave != nil {
			leave()
		}
	}()
	o.decide(r, borrowed)
	decided = true
}

// places are what one request holds under rules with InFlight. They outlive its Outcome.
type places struct {
	m             *Middleware
	ctx           context.Context
	s             *settings // that decided, also if another configuration is in force by now
	stored, local []limiter.Charge
	left          atomic.Bool
}

// leave gives the places back to the parts of the window in which they were taken. What the store does not take back
// leaves with the window.
func (p *places) leave() {
	if p.left.Swap(true) {
		return
	}
	p.giveBack(p.s.store, p.stored)
	if len(p.local) > 0 {
		p.giveBack(p.m.local(), p.local)
	}
}

func (p *places) giveBack(store limiter.Store, places []limiter.Charge) {
	if len(places) == 0 {
		return
	}
	if _, err := p.m.askStore(p.ctx, store, places); err != nil {
		p.m.logger.warnOnce("", "places of InFlight could not be given back, they are free when Limit.Window is over", err)
		return
	}
	for i := range places {
		p.s.observeCost(p.ctx, places[i].Scope[len(p.s.namespace)+1:], ResultAllowed, places[i].Cost)
	}
}
