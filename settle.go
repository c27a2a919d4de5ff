package httplimit

import (
	"context"
	"slices"

	"github.com/httplimit/httplimit/limiter"
)

// Settle ends the Outcome: once, for refused requests too, when the handler has returned. status is that of the
// answer: 500 after a panic, 101 for a connection that was taken over, 499 where nothing was written because the
// client had left. Rules with CountStatus give back what status does not make count; 499 always counts, so that
// nobody gets free tries by hanging up.
//
// The Outcome, but for its Context and its Denial, must not be used afterwards, nor settled again: it may be that of
// another request by then.
func (o *Outcome) Settle(status int) {
	if !o.live {
		return // settled twice in a row; later the Outcome may be another request's
	}
	if o.Counts() && status != statusClientClosed {
		o.giveBack(status)
	}
	o.release()
}

// release hands the Outcome back.
func (o *Outcome) release() {
	o.forget()
	outcomes.Put(o)
}

// SettlePanic is Settle for a handler that panicked, or ended its goroutine. written is the status that it had sent by
// then, 0 for none: an error that the client has read stays what it is, nothing sent to a client that has left is 499, and
// all else is 500.
func (o *Outcome) SettlePanic(written int) {
	o.Settle(final(written, false, o.ctx != nil && o.ctx.Err() != nil))
}

// forget leaves nothing of the request, only room for the next one.
func (o *Outcome) forget() {
	for i := range o.charges {
		o.charges[i].Key = "" // the rest is the configuration's
	}
	o.items = o.items[:0] // one by one, which only writes their lengths
	o.charges = o.charges[:0]
	o.verdicts = o.verdicts[:0]
	o.wire.reset()
	// The Middleware and its settings stay: a pool is emptied by the garbage collector.
	o.ctx, o.request.r = nil, nil
	if o.request.value != nil {
		o.request.value, o.request.carrier = nil, nil
	}
	if o.ledger != nil {
		o.ledger = nil
	}
	o.live, o.status, o.retry = false, 0, 0
}

// Counts tells whether Settle needs to know the status: where it does not, it may be called before the handler is.
func (o *Outcome) Counts() bool {
	for i := range o.items {
		if o.items[i].rule.CountStatus != nil && (o.items[i].spent || o.ledger != nil) {
			return true
		}
	}
	return false
}

// giveBack refunds what the request and its handler spent, in the store and the window that were charged, also when the
// client has left meanwhile.
func (o *Outcome) giveBack(status int) {
	var stored, local []limiter.Charge
	for i := range o.items {
		it := &o.items[i]
		if it.rule.CountStatus == nil || !it.spent && o.ledger == nil || it.rule.CountStatus(status) {
			continue
		}
		back := o.ledger.spends(it.rule.name)
		if it.spent {
			back = append(back, o.charges[i])
		}
		if it.source == SourceLocal {
			local = append(local, back...)
		} else {
			stored = append(stored, back...)
		}
	}
	if len(stored) > 0 {
		o.refund(o.s.store, stored)
	}
	if len(local) > 0 {
		o.refund(o.m.local(), local)
	}
}

// refund gives charges back. Those of cost 0 are left out: they would be decided, and where others have pushed their
// counter above its limit they would refuse the whole batch.
func (o *Outcome) refund(store limiter.Store, charges []limiter.Charge) {
	charges = slices.DeleteFunc(charges, func(c limiter.Charge) bool { return c.Cost == 0 })
	if len(charges) == 0 {
		return
	}
	for i := range charges {
		charges[i].Cost, charges[i].Mode = -charges[i].Cost, limiter.Enforce
	}
	if _, err := store.Take(context.WithoutCancel(o.ctx), charges); err != nil {
		o.m.journal.once("", "what CountStatus gives back could not be given back", err)
	}
}
