package redisstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/httplimit/httplimit/limiter/storekit"
)

var errExited = errors.New("redisstore: the call ended its goroutine")

// trip is one exchange with the server for all the batches aboard. It is the context of the call: with what the context
// of its leader holds, the lane's timeout, and nobody's cancellation, as others must not pay for one. Those of package
// context would take 1 µs of the 50 that a trip costs.
type trip struct {
	context.Context // of the leader
	batches         []*batch
	began           time.Duration
	ends            time.Duration // when its time is over; 0 while nobody leads it
	deadline        time.Time     // the same, or the sooner one of its only caller
	hurried         bool          // it is that of its only caller
	permit          storekit.Permit
	permitted       bool          // permit is set
	done            chan struct{} // closed when the callers have their outcomes
	err             error         // from then on
}

// Deadline is when the time of the trip is over.
func (t *trip) Deadline() (time.Time, bool) { return t.deadline, true }

// Done is closed when the trip is over.
func (t *trip) Done() <-chan struct{} { return t.done }

// Err tells how the trip ended once it is over.
func (t *trip) Err() error {
	select {
	case <-t.done:
		return t.err
	default:
		return nil
	}
}

// lead makes the trip. Its time is counted from when the first of its callers came. When it is over the callers get
// their error even if the client does not return.
func (l *lane) lead(ctx context.Context, t *trip) {
	now := l.clock.Now()
	t.Context = ctx
	if !t.permitted {
		permit, err := l.breaker.Begin(now)
		if err != nil {
			l.finish(t, nil, err, storekit.Undecided)
			return
		}
		t.permit = permit
	}
	start := t.batches[0].start
	for _, b := range t.batches {
		start = min(start, b.start)
	}
	ends := start + l.timeout
	if ends <= now { // sent, it would spend for callers who get an error
		l.finish(t, nil, l.tooLate(), storekit.Undecided)
		return
	}
	arrange(t.batches)
	t.deadline = time.Now().Add(ends - now)
	if own, ok := ctx.Deadline(); ok && l.inline && len(t.batches) == 1 && own.Before(t.deadline) {
		t.deadline, t.hurried = own, true // who leads in his own goroutine can leave in no other way
	}
	l.mu.Lock()
	t.ends = ends
	l.rouse(ends)
	l.mu.Unlock()
	if l.inline {
		l.carry(t)
	} else {
		go l.carry(t)
	}
}

// carry makes the call, and ends the trip however the call ends: hooks of the client may panic or exit.
func (l *lane) carry(t *trip) {
	var outcomes []outcome
	err := errExited
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("redisstore: the client panicked: %v", p)
		}
		how := judge(outcomes)
		switch {
		case how != storekit.Failed || err != nil:
		case l.clock.Now() >= t.ends:
			err = l.tooLate()
		case t.hurried && !time.Now().Before(t.deadline):
			err, how = context.DeadlineExceeded, storekit.Undecided // nothing is known of the server
		}
		l.finish(t, outcomes, err, how)
	}()
	outcomes = l.send(t, t.batches)
	err = nil
}

// judge tells what the breaker learns from a trip: one that brought any decision succeeded, and where all that was in
// the way is a slot on the move, nothing failed.
func judge(outcomes []outcome) storekit.Outcome {
	how := storekit.Failed
	for i := range outcomes {
		switch err := outcomes[i].err; {
		case err == nil:
			return storekit.Succeeded
		case onTheMove(err):
			how = storekit.Undecided
		}
	}
	return how
}

// tooLate is the error of a trip whose time is over.
func (l *lane) tooLate() error {
	return fmt.Errorf("redisstore: no answer within %v: %w", l.timeout, context.DeadlineExceeded)
}

// finish hands the outcomes to the callers and the lane to the next trip, unless that was done before.
func (l *lane) finish(t *trip, outcomes []outcome, err error, how storekit.Outcome) {
	now := l.clock.Now()
	l.mu.Lock()
	if t.err != nil {
		l.mu.Unlock()
		return
	}
	t.err = context.Canceled
	if errors.Is(err, context.DeadlineExceeded) {
		t.err = context.DeadlineExceeded
	}
	close(t.done)
	if how == storekit.Succeeded {
		l.usual += (now - t.began - l.usual) / usualOver
	}
	l.next(t)
	l.mu.Unlock()
	l.breaker.End(t.permit, now, how)
	for i, b := range t.batches {
		if err != nil {
			b.outcome = outcome{err: err}
		} else {
			b.outcome = outcomes[i]
		}
		b.wake <- nil
	}
}
