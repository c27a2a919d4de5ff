package algorithm

import (
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/internal/arith"
)

// maxDebt is the largest debt of a bucket; a larger one becomes maxDebt. Lua in Redis holds no larger whole number
// exactly.
const maxDebt = 1<<53 - 1

// LoadBucket fills a zero Usage with what a TokenBucket holds at now. Stored are its debt and the moment at which it
// had that debt, in Unix milliseconds; for a bucket that was never stored, both are 0. The bucket has been refilled
// since then at the rate of l. If the clock went back, nothing has been refilled.
//
// A limit of 0 admits nothing, but refunds and Force charges ask its bucket: it refills one unit a window then, as with
// the lowest other limit, so that what a key owes when its limit becomes 0 ends some time.
func (u *Usage) LoadBucket(l *limiter.Limit, now, at, debt int64) {
	u.At = now
	// Compared before the multiplication, which would overflow after a long idle time.
	if passed, rate := max(0, now-at), refillRate(l); passed < arith.CeilDiv(debt, rate) {
		u.Debt = debt - passed*rate
	}
}

// MostUnits returns how many units a counter of l can hold: [limiter.MaxCount], and in a TokenBucket the fewer, the
// longer its window is: 104 million with a day, 284,836 with 366. What is charged beyond that is lost.
func MostUnits(l *limiter.Limit) int64 {
	if l.Algorithm == limiter.TokenBucket {
		return maxDebt / l.Window.Milliseconds()
	}
	return limiter.MaxCount
}

// refillRate returns how much debt a bucket refills in a millisecond.
func refillRate(l *limiter.Limit) int64 { return max(1, l.Requests) }

// DebtAfter returns the debt to store after a batch: that of u plus what the batch has spent.
func (u *Usage) DebtAfter(l limiter.Limit) int64 {
	window := l.Window.Milliseconds()
	if u.Spent > (maxDebt-u.Debt)/window {
		return maxDebt
	}
	return u.Debt + u.Spent*window
}

func (u *Usage) bucketRetryAfter(l *limiter.Limit, cost int64) time.Duration {
	window := l.Window.Milliseconds()
	// The debt that must be refilled before the cost fits. Here cost is at most the capacity.
	return arith.Millis(arith.CeilDiv(u.Debt-(l.Capacity()-cost)*window, refillRate(l)))
}

func (u *Usage) bucketResetAfter(l limiter.Limit, extra int64) time.Duration {
	after := Usage{Debt: u.Debt, Spent: extra}
	return arith.Millis(arith.CeilDiv(after.DebtAfter(l), refillRate(&l)))
}

// refundDebt takes n units off the debt, or all of it if it is less.
func (u *Usage) refundDebt(l limiter.Limit, n int64) {
	back := u.Debt
	if window := l.Window.Milliseconds(); n <= back/window {
		back = n * window
	}
	u.Debt -= back
	u.Returned += arith.CeilDiv(back, l.Window.Milliseconds())
	u.returnedCurrent += back
}
