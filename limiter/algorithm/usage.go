package algorithm

import (
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/internal/arith"
)

// Usage is what one counter holds at one moment, in the form in which its algorithm calculates. Fill a zero Usage with
// [Usage.LoadWindow], [Usage.LoadBucket], [Usage.LoadLog] or [Usage.LoadStrict]. It is a plain value without locks.
type Usage struct {
	// State is the moment of the decision, At, and what is counted at that moment, before the batch.
	limiter.State
	// Number is the number of the window of At (SlidingWindow and FixedWindow) or of the part of At (StrictWindow),
	// counted from the epoch.
	Number int64
	// Debt is what a TokenBucket still has to refill, in units times the window in milliseconds. In this measure
	// every rate refills a whole number each millisecond, so nothing is ever rounded.
	Debt int64
	// Newest is when the newest unit of a SlidingLog was taken, in Unix milliseconds.
	Newest int64
	// Log says when units of a SlidingLog expire. It is asked only for a charge that does not fit, and after a refund.
	Log Log
	// Parts are those of a StrictWindow, less what the batch refunds.
	Parts *Parts

	// Spent is how many units the batch adds to the counter. Returned is how many of the units from before the batch
	// it refunds. Both are 0 after a batch that was refused.
	Spent, Returned int64

	returnedCurrent, returnedPrevious int64
}

// remaining returns how many units could be spent after extra units. It is negative if the counter is above its limit.
// A cost fits if and only if it is not larger.
func (u *Usage) remaining(l *limiter.Limit, extra int64) int64 {
	switch l.Algorithm {
	case limiter.TokenBucket:
		return l.Capacity() - u.used(l) - extra
	case limiter.SlidingLog, limiter.StrictWindow:
		return l.Requests - u.Current - extra
	default:
		w := u.counts(l, extra)
		return w.Remaining(l.Requests)
	}
}

// retryAfter returns how long a cost has to wait that does not fit.
func (u *Usage) retryAfter(l *limiter.Limit, cost int64) time.Duration {
	switch {
	case cost > l.Capacity():
		return limiter.Never
	case l.Algorithm == limiter.TokenBucket:
		return u.bucketRetryAfter(l, cost)
	case l.Algorithm == limiter.SlidingLog:
		return u.logRetryAfter(l, cost)
	case l.Algorithm == limiter.StrictWindow:
		return u.strictRetryAfter(l, cost)
	default:
		w := u.counts(l, 0)
		return w.RetryAfter(l, cost)
	}
}

// resetAfter returns the time until no unit is in use any more, after extra units.
func (u *Usage) resetAfter(l *limiter.Limit, extra int64) time.Duration {
	switch l.Algorithm {
	case limiter.TokenBucket:
		return u.bucketResetAfter(*l, extra)
	case limiter.SlidingLog:
		return u.logResetAfter(l, extra)
	case limiter.StrictWindow:
		return u.strictResetAfter(l, extra)
	default:
		w := u.counts(l, extra)
		return w.ResetAfter(l)
	}
}

// used returns how many units are in use before the batch, as a State shows them.
func (u *Usage) used(l *limiter.Limit) int64 {
	if l.Algorithm == limiter.TokenBucket {
		return arith.CeilDiv(u.Debt, l.Window.Milliseconds())
	}
	return u.Current
}

// refund takes n units off u: first those that the batch itself has spent, then those from before. at is the moment
// of the charge that is refunded, or 0.
func (u *Usage) refund(l *limiter.Limit, n, at int64) {
	var current, previous bool
	switch l.Algorithm {
	case limiter.SlidingWindow, limiter.FixedWindow:
		current, previous = u.refundsTo(l, at)
	case limiter.StrictWindow:
		u.refundParts(l, n, at)
		return
	case limiter.SlidingLog:
		// What was taken a window ago has expired.
		current = at == 0 || at > u.At-l.Window.Milliseconds()
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

// rollBack takes back everything that the batch did to u.
func (u *Usage) rollBack(l *limiter.Limit) {
	switch l.Algorithm {
	case limiter.TokenBucket:
		u.Debt += u.returnedCurrent
	case limiter.StrictWindow:
		u.rollBackParts()
	default:
		u.Current += u.returnedCurrent
		u.Previous += u.returnedPrevious
	}
	u.Spent, u.Returned, u.returnedCurrent, u.returnedPrevious = 0, 0, 0, 0
}

// addSaturating returns the sum of two counts, neither of them negative, or MaxCount if the sum is larger.
func addSaturating(a, b int64) int64 {
	if b > limiter.MaxCount-a {
		return limiter.MaxCount
	}
	return a + b
}
