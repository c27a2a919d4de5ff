package limiter

import (
	"math/bits"
	"time"
)

// WindowUsage is what a SlidingWindow or FixedWindow counter holds at now, when what is stored is the counts of
// window number and of the one before it. Windows are numbered from the epoch: number n begins at n times the
// window. A counter that was never stored is three zeros.
//
// If the stored window lies in the future, the clock went back, which must not free a key: all its units count for
// the window of now. Nor may it lock a key out until the clock has caught up: so a store whose clock can go back
// writes such a Usage down, even if the batch is refused.
func WindowUsage(l Limit, now, number, current, previous int64) (u Usage) {
	u.LoadWindow(&l, now, number, current, previous)
	return u
}

// LoadWindow makes a zero Usage that of [WindowUsage]. It is for stores in memory, where copying a Usage would be a
// fifth of a decision's time.
func (u *Usage) LoadWindow(l *Limit, now, number, current, previous int64) {
	window := l.WindowMillis()
	u.At, u.Number, u.Current = now, number, current
	if l.Algorithm == SlidingWindow {
		u.Previous = previous
	}
	// Multiplied, as most charges come in the window that is stored, and a division takes several times as long.
	if elapsed := now - number*window; elapsed < 0 || elapsed >= window {
		u.turn(l, now/window)
	}
}

// turn carries the counts over to the window of that number.
func (u *Usage) turn(l *Limit, number int64) {
	switch {
	case u.Number > number:
		// As the previous window, at the end of this one, they would weigh less than they did.
		u.Current, u.Previous = saturate(u.Current, u.Previous), 0
	case u.Number == number-1 && l.Algorithm == SlidingWindow:
		u.Current, u.Previous = 0, u.Current
	default:
		u.Current, u.Previous = 0, 0
	}
	u.Number = number
}

// elapsed is how much of the current window is over, in milliseconds.
func (u *Usage) elapsed(window int64) int64 { return u.At - u.Number*window }

// weighted is the previous window's count times the share of it that a window ending now still covers, rounded
// down: with the count before the request compared against the limit, as the originals of this algorithm do,
// p x (W-e) + (c+n) x W <= L x W + (W-1) is the same as floor(p x (W-e) / W) + c + n <= L.
func (u *Usage) weighted(window int64) int64 {
	if u.Previous == 0 {
		return 0
	}
	return mulDiv(u.Previous, window-u.elapsed(window), window)
}

// slidingRetry solves the condition for the first moment at which it holds, without other traffic.
func (u *Usage) slidingRetry(l *Limit, cost int64) time.Duration {
	window := l.WindowMillis()
	free := l.Requests - u.Current - cost
	if free >= 0 {
		// In this window, as the previous one leaves: p x (W-e') <= free x W + W-1.
		return millis(window - u.elapsed(window) - mulAddDiv(free, window, window-1, u.Previous))
	}
	// After the turn, as the current one leaves: c x (W-e') <= (L-n) x W + W-1.
	return millis(2*window - u.elapsed(window) - mulAddDiv(l.Requests-cost, window, window-1, u.Current))
}

// slidingReset is when the weight of both windows rounds to nothing.
func (u *Usage) slidingReset(window, extra int64) time.Duration {
	left := window - u.elapsed(window)
	switch current := u.Current + extra; {
	case current > 0:
		return millis(left + window - (window-1)/current)
	case u.Previous > 0:
		return millis(max(0, left-(window-1)/u.Previous))
	}
	return 0
}

// refundsTo tells to which of the two windows a refund of what was charged at that moment goes. Without a moment
// (0) it goes to both, the current one first.
func (u *Usage) refundsTo(l *Limit, at int64) (current, previous bool) {
	if at == 0 {
		return true, true
	}
	number := at / l.WindowMillis()
	return number == u.Number, number == u.Number-1
}

// mulDiv is a x b / c without overflow, for a result below 2^63.
func mulDiv(a, b, c int64) int64 { return mulAddDiv(a, b, 0, c) }

// mulAddDiv is (a x b + d) / c without overflow, for a result below 2^63. Nothing is negative.
func mulAddDiv(a, b, d, c int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	lo, carry := bits.Add64(lo, uint64(d), 0)
	quotient, _ := bits.Div64(hi+carry, lo, uint64(c))
	return int64(quotient)
}
