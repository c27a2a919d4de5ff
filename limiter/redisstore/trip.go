package redisstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/httplimit/httplimit/limiter/storekit"
)

var errExited = errors.New("redisstore: the call ended its goroutine")

// trip is one exchange with the server for all the batches aboard.
type trip struct {
	batches   []*batch
	began     time.Duration
	permit    storekit.Permit
	permitted bool // permit is set
	over      bool // the callers have their outcomes; guarded by the lane
}

// lead makes the trip. It has the lane's timeout, counted from when the first of its callers came, and nobody's
// cancellation, as others must not pay for one. When the time is over the callers get their error even if the client
// does not return.
func (l *lane) lead(ctx context.Context, t *trip) {
	now := l.clock.Now()
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
	if !l.inline || len(t.batches) > 1 {
		ctx = context.WithoutCancel(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, start+l.timeout-now)
	stop := context.AfterFunc(limited, func() { l.expire(ctx, t) })
	end := func() { stop(); cancel() }
	if l.inline {
		l.carry(limited, t, end)
	} else {
		go l.carry(limited, t, end)
	}
}

// carry makes the call, and ends the trip however the call ends: hooks of the client may panic or exit.
func (l *lane) carry(ctx context.Context, t *trip, end func()) {
	var outcomes []outcome
	err := errExited
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("redisstore: the client panicked: %v", p)
		}
		end()
		l.finish(t, outcomes, err, judge(outcomes))
	}()
	outcomes = l.send(ctx, t.batches)
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

// expire ends a trip whose time is over, or whose only caller has left.
func (l *lane) expire(ctx context.Context, t *trip) {
	if err := ctx.Err(); err != nil {
		l.finish(t, nil, err, storekit.Undecided)
		return
	}
	l.finish(t, nil, fmt.Errorf("redisstore: no answer within %v: %w", l.timeout, context.DeadlineExceeded), storekit.Failed)
}

// finish hands the outcomes to the callers and the lane to the next trip, unless that was done before.
func (l *lane) finish(t *trip, outcomes []outcome, err error, how storekit.Outcome) {
	now := l.clock.Now()
	l.mu.Lock()
	if t.over {
		l.mu.Unlock()
		return
	}
	t.over = true
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
