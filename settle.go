package httplimit

import (
	"context"
	"net/http"
	"slices"

	"github.com/httplimit/httplimit/limiter"
)

// statusClientClosed is what nginx logs for a client that left before the answer; it is never sent.
const statusClientClosed = 499

// Settle ends the Outcome: once, for refused requests too, when the handler has returned. status is that of the answer:
// 500 after a panic, 101 for a connection that was taken over, 0 where nothing was written, which is 499 if the client
// has left by then and 200 if not. Rules with CountStatus give back what status does not make count; 499 always counts,
// so that nobody gets free tries by hanging up.
//
// The Outcome is empty then, but a Context and a Denial taken from it live on. A second Settle does nothing.
func (o *Outcome) Settle(status int) {
	if o.settled {
		return
	}
	if status == 0 {
		status = http.StatusOK
		if o.decision.clientLeft() {
			status = statusClientClosed
		}
	}
	if status != statusClientClosed && o.Counts() {
		o.refund(status)
	}
	o.clear()
	o.settled = true
}

// SettleFailed is Settle for a handler that panicked, ended its goroutine, or returned an error without a status.
// written is the status that it had sent by then, 0 for none: an error that the client has read stays what it is,
// nothing sent to a client that has left is 499, and all else is 500.
func (o *Outcome) SettleFailed(written int) {
	switch {
	case written == 0 && o.decision.clientLeft():
		o.Settle(statusClientClosed)
	case written < http.StatusBadRequest:
		o.Settle(http.StatusInternalServerError)
	default:
		// Else a client could undo its failed login by hanging up, which makes a reverse proxy panic.
		o.Settle(written)
	}
}

// clientLeft reports whether the request's context has ended.
func (d *decision) clientLeft() bool { return d.ctx != nil && d.ctx.Err() != nil }

// refund gives back what the request and its handler spent on rules for which status does not count: in the store and
// the window that were charged, also when the client has left meanwhile.
func (o *Outcome) refund(status int) {
	d := &o.decision
	var stored, local []limiter.Charge
	for i := range d.rules {
		r := &d.rules[i]
		if r.CountStatus == nil || !r.spent && o.exposure == nil || r.CountStatus(status) {
			continue
		}
		spent := o.exposure.spends(r.Name)
		if r.spent {
			spent = append(spent, d.charges[i])
		}
		if r.source == SourceLocal {
			local = append(local, spent...)
		} else {
			stored = append(stored, spent...)
		}
	}
	d.refundTo(d.s.store, stored)
	if len(local) > 0 {
		d.refundTo(d.m.local(), local)
	}
}

// refundTo gives charges back. Those of cost 0 are left out: they would be decided, and where others have pushed their
// counter above its limit they would refuse the whole batch.
func (d *decision) refundTo(store limiter.Store, charges []limiter.Charge) {
	charges = slices.DeleteFunc(charges, func(c limiter.Charge) bool { return c.Cost == 0 })
	if len(charges) == 0 {
		return
	}
	for i := range charges {
		charges[i].Cost, charges[i].Mode = -charges[i].Cost, limiter.Enforce
	}
	if _, err := store.Take(context.WithoutCancel(d.ctx), charges); err != nil {
		d.m.logger.warnOnce("", "units that CountStatus refunds could not be given back", err)
	}
}
