package limiter

import "time"

// maxDebt is where a bucket's debt saturates: the largest whole number that Lua in Redis holds exactly.
const maxDebt = 1<<53 - 1

// BucketUsage is what a TokenBucket holds at now, when what is stored is its debt at an earlier moment. A bucket
// that was never stored is two zeros. The time since then refills at the rate of l. If the clock went back,
// nothing has been refilled.
func BucketUsage(l Limit, now, at, debt int64) (u Usage) {
	u.LoadBucket(&l, now, at, debt)
	return u
}

// LoadBucket makes a zero Usage that of [BucketUsage]; see [Usage.LoadWindow].
func (u *Usage) LoadBucket(l *Limit, now, at, debt int64) {
	u.At = now
	// Compared before it is multiplied, so that nothing overflows after a long idle time.
	if passed := max(0, now-at); passed < ceilDiv(debt, l.Requests) {
		u.Debt = debt - passed*l.Requests
	}
}

// DebtAfter is the debt to store after a batch: that of u plus what the batch spent.
func (u *Usage) DebtAfter(l Limit) int64 {
	window := l.WindowMillis()
	if u.Spent > (maxDebt-u.Debt)/window {
		return maxDebt
	}
	return u.Debt + u.Spent*window
}

func (u *Usage) bucketRetry(l *Limit, cost int64) time.Duration {
	window := l.WindowMillis()
	// Debt that must be refilled before the cost fits; cost is at most the capacity here.
	return millis(ceilDiv(u.Debt-(l.Capacity()-cost)*window, l.Requests))
}

func (u *Usage) bucketReset(l Limit, extra int64) time.Duration {
	after := Usage{Debt: u.Debt, Spent: extra}
	return millis(ceilDiv(after.DebtAfter(l), l.Requests))
}

// refundDebt takes n units off the debt, at most all of it.
func (u *Usage) refundDebt(l Limit, n int64) {
	back := u.Debt
	if window := l.WindowMillis(); n <= back/window {
		back = n * window
	}
	u.Debt -= back
	u.Returned += ceilDiv(back, l.WindowMillis())
	u.returnedCurrent += back
}
