package algorithm

import (
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/internal/arith"
)

// Usage is what one counter holds at one moment, in the form in which its algorithm is calculated. A store loads one
// per counter with [Usage.LoadWindow], [Usage.LoadBucket] or [Usage.LoadLog], passes them to [Decide], and writes back
// what it left in them. It is a plain value without locks.
type Usage struct {
	// State is At, the moment of the decision, and what is counted then, before the batch under judgement.
	limiter.State
	// Number is that of the window of At, counted from the epoch (the two windows only).
	Number int64
	// Debt is what a TokenBucket still has to refill, in units times the window in milliseconds: so a rate of
	// any size takes whole numbers off it every millisecond, and nothing is ever rounded.
	Debt int64
	// Newest is when the newest unit of a SlidingLog was taken, in Unix milliseconds.
	Newest int64
	// Log is asked when units of a SlidingLog leave; only for a charge that did not fit and after a refund.
	Log Log

	// Spent is how many units the batch adds to the counter now, Returned how many of those it held before
	// the batch it gives back. Both are 0 after a batch that was refused.
	Spent, Returned int64

	returnedCurrent, returnedPrevious int64
}

// room is how much more could be spent after extra units: negative when the counter is above its limit. A cost
// fits if and only if it is not larger.
func (u *Usage) room(l *limiter.Limit, extra int64) int64 {
	switch l.Algorithm {
	case limiter.TokenBucket:
		return l.Capacity() - u.used(l) - extra
	case limiter.SlidingLog:
		return l.Requests - u.Current - extra
	default:
		w := u.counts(l, extra)
		return w.Room(l.Requests)
	}
}

// retryAfter is for a cost that does not fit.
func (u *Usage) retryAfter(l *limiter.Limit, cost int64) time.Duration {
	switch {
	case cost > l.Capacity():
		return limiter.Never
	case l.Algorithm == limiter.TokenBucket:
		return u.bucketRetry(l, cost)
	case l.Algorithm == limiter.SlidingLog:
		return u.logRetry(l, cost)
	default:
		w := u.counts(l, 0)
		return w.RetryAfter(l, cost)
	}
}

// resetAfter is the time until nothing is in use any more, after extra units.
func (u *Usage) resetAfter(l *limiter.Limit, extra int64) time.Duration {
	switch l.Algorithm {
	case limiter.TokenBucket:
		return u.bucketReset(*l, extra)
	case limiter.SlidingLog:
		return u.logReset(l, extra)
	default:
		w := u.counts(l, extra)
		return w.ResetAfter(l)
	}
}

// used is how many units a State shows as in use now, before the batch.
func (u *Usage) used(l *limiter.Limit) int64 {
	if l.Algorithm == limiter.TokenBucket {
		return arith.CeilDiv(u.Debt, l.WindowMillis())
	}
	return u.Current
}

// refund gives back -cost units: first those that the batch itself has taken, then those from before.
func (u *Usage) refund(l *limiter.Limit, cost, at int64) {
	n := -cost
	var current, previous bool
	switch l.Algorithm {
	case limiter.SlidingWindow, limiter.FixedWindow:
		current, previous = u.refundsTo(l, at)
	case limiter.SlidingLog:
		// What was taken a window ago has left by itself.
		current = at == 0 || at > u.At-l.WindowMillis()
	case limiter.TokenBucket:
		current = true
	}
	if current {
		own := min(n, u.Spent)
		u.Spent -= own
		n -= own
		if l.Algorithm == limiter.TokenBucket {
			u.refundDebt(*l, n)
			return
		}
		back := min(n, u.Current)
		u.Current -= back
		u.returnedCurrent += back
		n -= back
		u.Returned += back
	}
	if previous {
		back := min(n, u.Previous)
		u.Previous -= back
		u.returnedPrevious += back
		u.Returned += back
	}
}

// undo forgets everything that the batch did to u.
func (u *Usage) undo(l *limiter.Limit) {
	if l.Algorithm == limiter.TokenBucket {
		u.Debt += u.returnedCurrent
	} else {
		u.Current += u.returnedCurrent
		u.Previous += u.returnedPrevious
	}
	u.Spent, u.Returned, u.returnedCurrent, u.returnedPrevious = 0, 0, 0, 0
}

// saturate adds two counts, neither negative, and stops at MaxCount.
func saturate(a, b int64) int64 {
	if b > limiter.MaxCount-a {
		return limiter.MaxCount
	}
	return a + b
}
