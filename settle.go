package httplimit

import (
	"context"
	"net/http"

	"github.com/httplimit/httplimit/limiter"
)

// statusClientClosed is what nginx logs for a client that left before the answer. It stands for an answer that nobody
// has seen and is never sent.
const statusClientClosed = 499

// Settle ends the Outcome: once, for refused requests too, when the handler has returned. status is that of the answer:
// 101 for a connection that was taken over, 0 where nothing was written, which is 499 if the client has left by then
// and 200 if not. Rules with CountStatus give back what status does not make count; 499 always counts, so that nobody
// gets free tries by hanging up. A status of 500 and above is 499 too if the client has left by then: it is the end of
// the request's context that most handlers fail of, and with it a reverse proxy's 502. Any other status that was sent
// stays what it is, whatever becomes of the body. Rules with InFlight get their places back whatever the status is,
// unless [Outcome.Hold] has taken them over.
//
// Where it cannot be known how the request is answered, the Outcome is released or forgotten without Settle: then the
// request counts.
//
// The Outcome is empty then, but a Context and a Denial taken from it live on. A second Settle does nothing.
func (o *Outcome) Settle(status int) {
	if o.settled {
		return
	}
	status = final(status)
	switch failed := status == 0 || status >= http.StatusInternalServerError; {
	case failed && o.decision.clientLeft():
		status = statusClientClosed
	case status == 0:
		status = http.StatusOK
	}
	if leave := o.Hold(); leave != nil {
		leave()
	}
	if status != statusClientClosed && o.countsStatus() {
		o.refund(status)
	}
	o.clear()
	o.settled = true
}

// SettleFailed is Settle for a handler that panicked or ended its goroutine. sent is the status that was sent by then;
// 0 for none, which is 499 if the client has left and 500 if not.
func (o *Outcome) SettleFailed(sent int) {
	if final(sent) == 0 {
		sent = http.StatusInternalServerError
	}
	o.Settle(sent)
}

// final returns status, or 0 if it announces that the answer is still to come, as 1xx does but for 101.
func final(status int) int {
	if status < http.StatusOK && status != http.StatusSwitchingProtocols {
		return 0
	}
	return status
}

// clientLeft reports whether the request's context has ended.
func (d *decision) clientLeft() bool { return d.ctx != nil && d.ctx.Err() != nil }

// refund gives back what the request and its handler spent on rules for which status does not count, and have not given
// back themselves: in the store and the window that were charged, also when the client has left meanwhile.
func (o *Outcome) refund(status int) {
	d := &o.decision
	var stored, local []limiter.Charge
	for i := range d.rules {
		r := &d.rules[i]
		if r.CountStatus == nil || !r.spent && o.exposure == nil || r.CountStatus(status) {
			continue
		}
		if r.source == SourceLocal {
			local = append(local, o.refunds(i)...)
		} else {
			stored = append(stored, o.refunds(i)...)
		}
	}
	d.refundTo(d.s.store, stored)
	if len(local) > 0 {
		d.refundTo(d.m.local(), local)
	}
}

// refunds returns the charges that give back what rule i has charged. There is none of cost 0: it would be decided, and
// where others have pushed its counter above its limit it would refuse the whole batch.
func (o *Outcome) refunds(i int) []limiter.Charge {
	if o.exposure != nil {
		return o.exposure.reserveAll(i)
	}
	c := o.decision.charges[i]
	if c.Cost == 0 {
		return nil
	}
	c.Cost, c.Mode = -c.Cost, limiter.Enforce
	return []limiter.Charge{c}
}

// refundTo gives charges back.
func (d *decision) refundTo(store limiter.Store, refunds []limiter.Charge) {
	if len(refunds) == 0 {
		return
	}
	ctx := context.WithoutCancel(d.ctx)
	if _, err := d.m.askStore(ctx, store, refunds); err != nil {
		d.m.logger.warnOnce("", "units that CountStatus refunds could not be given back", err)
		return
	}
	d.observeRefunds(ctx, refunds)
}
