package redisstore

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit/limiter/storekit"
)

var errExited = errors.New("redisstore: the call ended its goroutine")

// flight is one exchange with the server for all the batches in it. It is the context of the call: with the values of
// its leader's context, the store's time-out, and nobody's cancellation, as others must not pay for one. The contexts
// of package context would take several allocations and 1 µs of the 50 that a flight costs.
type flight struct {
	context.Context // of the leader
	batches         []*batch
	began           time.Duration
	ends            time.Duration // when its time is over; 0 while nobody leads it
	deadline        time.Time     // the same, or the sooner one of its only caller, or later: see pace.linger
	ownDeadline     bool          // deadline is that of its only caller
	permit          storekit.Permit
	permitted       bool          // permit is set
	sent            bool          // the call was begun
	crowded         bool          // several callers went together in the flight before
	done            chan struct{} // closed when the callers have their outcomes
	err             error         // from then on
}

// Deadline implements [context.Context]: when the time of the call is over.
func (f *flight) Deadline() (time.Time, bool) { return f.deadline, true }

// Done implements [context.Context].
func (f *flight) Done() <-chan struct{} { return f.done }

// Err implements [context.Context].
func (f *flight) Err() error {
	select {
	case <-f.done:
		return f.err
	default:
		return nil
	}
}

// lead sends the flight. Its time is counted from when the first of its callers came. When that is over, the callers
// get their error even if the client does not return.
func (b *batcher) lead(ctx context.Context, f *flight) {
	now := b.clock.Now()
	f.Context = ctx
	if !f.permitted {
		permit, err := b.breaker.Begin(now)
		if err != nil {
			b.finish(f, nil, err, storekit.Undecided)
			return
		}
		f.permit = permit
	}
	if err := b.contact.begin(now); err != nil {
		b.finish(f, nil, err, storekit.Undecided)
		return
	}
	b.contact.first()
	now = b.gather(f, now)
	start := f.batches[0].start
	for _, w := range f.batches {
		start = min(start, w.start)
	}
	ends := start + b.timeout
	if ends <= now { // sent, it would spend for callers that get an error
		b.finish(f, nil, b.tooLate(), storekit.Undecided)
		return
	}
	arrange(f.batches)
	linger := b.pace.linger(b.timeout)
	f.deadline = time.Now().Add(ends - now + linger)
	inline := b.inline && linger == 0
	if own, ok := ctx.Deadline(); ok && inline && own.Before(f.deadline) {
		if len(f.batches) == 1 {
			f.deadline, f.ownDeadline = own, true // a leader in its own goroutine can leave in no other way
		} else {
			inline = false // and others must not pay for its deadline
		}
	}
	b.mu.Lock()
	f.ends, f.sent = ends, true
	b.sample, b.sent = f.batches[0].keys[0], now
	b.watch(ends)
	b.mu.Unlock()
	if inline {
		b.call(f)
	} else {
		go b.call(f)
	}
}

// call makes the call, and ends the flight however the call ends: hooks of the client may panic or exit.
func (b *batcher) call(f *flight) {
	var outcomes []outcome
	err := errExited
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("redisstore: the client panicked: " + storekit.DescribePanic(p))
		}
		how := judge(outcomes)
		if how == storekit.Succeeded {
			b.contact.answer(b.clock.Now())
		}
		switch {
		case how != storekit.Failed || err != nil:
		case f.ownDeadline && !time.Now().Before(f.deadline):
			err, how = context.DeadlineExceeded, storekit.Undecided // nothing is known of the server
		case b.clock.Now() >= f.ends, errors.Is(firstError(outcomes), context.DeadlineExceeded):
			err = b.tooLate()
		}
		if err != nil {
			err = withoutKeys(err, f.batches)
		}
		b.finish(f, outcomes, err, how)
	}()
	outcomes = b.send(f, f.batches)
	err = nil
}

// judge returns what the breaker learns from a flight: one that brought any decision succeeded, or an error that is
// about its batch alone, and where any of the errors is about a slot that moves, nothing is known.
func judge(outcomes []outcome) storekit.Outcome {
	how := storekit.Failed
	for i := range outcomes {
		switch o := &outcomes[i]; {
		case o.err == nil, o.answered:
			return storekit.Succeeded
		case slotMoves(o.err):
			how = storekit.Undecided
		}
	}
	return how
}

// firstError returns the first error of the outcomes, nil if there is none.
func firstError(outcomes []outcome) error {
	for i := range outcomes {
		if err := outcomes[i].err; err != nil {
			return err
		}
	}
	return nil
}

// finish hands the outcomes to the callers and the batcher to the next flight, unless that was done before.
func (b *batcher) finish(f *flight, outcomes []outcome, err error, how storekit.Outcome) {
	now := b.clock.Now()
	b.mu.Lock()
	if f.err != nil {
		b.mu.Unlock()
		return
	}
	f.err = context.Canceled
	if errors.Is(err, context.DeadlineExceeded) {
		f.err = context.DeadlineExceeded
	}
	close(f.done)
	fastest := b.tally.flight(f, now, how)
	b.end(f)
	b.mu.Unlock()
	if b.contact != nil && fastest > 0 {
		b.pace.atMost(fastest)
		b.contact.notices.roundTrip(fastest, b.timeout)
	}
	b.learn(f, now, outcomes, err, how)
	for i, w := range f.batches {
		if err != nil {
			w.outcome = outcome{err: err, unknown: f.sent && !notSent(err)}
		} else {
			w.outcome = outcomes[i]
		}
		w.wake <- nil
	}
}

// learn draws from the end of a flight what it says of the server and of the connections to it.
func (b *batcher) learn(f *flight, now time.Duration, outcomes []outcome, err error, how storekit.Outcome) {
	if err == nil {
		err = firstError(outcomes)
	}
	unanswered := err != nil && isUnanswered(err)
	if how == storekit.Failed && unanswered {
		if b.contact.connecting(now) {
			how = storekit.Undecided
		}
		defer b.contact.doubt()
	}
	b.breaker.End(f.permit, now, how, err)
	if err != nil && !unanswered && redis.IsReadOnlyError(err) {
		b.contact.demoted()
	}
}
