package algorithm

import (
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/internal/arith"
)

// maxDebt is where a bucket's debt saturates: the largest whole number that Lua in Redis holds exactly.
const maxDebt = 1<<53 - 1

// LoadBucket fills a zero Usage with what a TokenBucket holds at now, if what is stored is its debt at the moment at. A
// bucket that was never stored is two zeros. The time since then refills at the rate of l. If the clock went back,
// nothing has been refilled. Moments are Unix milliseconds.
func (u *Usage) LoadBucket(l *limiter.Limit, now, at, debt int64) {
	u.At = now
	// Compared before it is multiplied, so that nothing overflows after a long idle time.
	if passed := max(0, now-at); passed < arith.CeilDiv(debt, l.Requests) {
		u.Debt = debt - passed*l.Requests
	}
}

// DebtAfter is the debt to store after a batch: that of u plus what the batch spent.
func (u *Usage) DebtAfter(l limiter.Limit) int64 {
	window := l.WindowMillis()
	if u.Spent > (maxDebt-u.Debt)/window {
		return maxDebt
	}
	return u.Debt + u.Spent*window
}

func (u *Usage) bucketRetry(l *limiter.Limit, cost int64) time.Duration {
	window := l.WindowMillis()
	// Debt that must be refilled before the cost fits; cost is at most the capacity here.
	return arith.Millis(arith.CeilDiv(u.Debt-(l.Capacity()-cost)*window, l.Requests))
}

func (u *Usage) bucketReset(l limiter.Limit, extra int64) time.Duration {
	after := Usage{Debt: u.Debt, Spent: extra}
	return arith.Millis(arith.CeilDiv(after.DebtAfter(l), l.Requests))
}

// refundDebt takes n units off the debt, at most all of it.
func (u *Usage) refundDebt(l limiter.Limit, n int64) {
	back := u.Debt
	if window := l.WindowMillis(); n <= back/window {
		back = n * window
	}
	u.Debt -= back
	u.Returned += arith.CeilDiv(back, l.WindowMillis())
	u.returnedCurrent += back
}
