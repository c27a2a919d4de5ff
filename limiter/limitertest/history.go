package limitertest

import (
	"math"
	"math/big"
	"math/bits"
	"slices"
	"sort"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// history is all that was spent from one counter: its debt for a TokenBucket, every single expense for the others.
type history struct {
	expenses []expense // oldest first

	debt *big.Int      // at the moment at, in tokens times the window in milliseconds; nil: none
	at   int64         // Unix milliseconds
	last limiter.Limit // that of the last charge
}

type expense struct{ at, units int64 }

func (h *history) clone() *history {
	return &history{slices.Clone(h.expenses), h.debt, h.at, h.last}
}

// fits is the definition: it reports whether n more units may be spent at that moment.
func (h *history) fits(l limiter.Limit, at, n int64) bool {
	w := l.Window.Milliseconds()
	if l.Algorithm == limiter.TokenBucket {
		// debt + n x W <= capacity x W
		want := product(n, w)
		return want.Add(want, h.debtAt(l, at)).Cmp(product(capacity(l), w)) <= 0
	}
	current, previous := h.units(l, at)
	if l.Algorithm != limiter.SlidingWindow {
		return current+n <= l.Requests
	}
	// p x (W-e) + (c+n) x W <= L x W + (W-1)
	return !sum128(l.Requests, w, w-1).less(sum128(previous, w-at%w, 0).plus(sum128(current+n, w, 0)))
}

// uint128 is a number of 128 bits. Searches compare such numbers at each step: with big.Int they took half of a run.
type uint128 struct{ high, low uint64 }

// sum128 returns a x b + c, none of which is negative.
func sum128(a, b, c int64) uint128 {
	high, low := bits.Mul64(uint64(a), uint64(b))
	return uint128{high, low}.plus(uint128{0, uint64(c)})
}

func (w uint128) plus(other uint128) uint128 {
	low, carry := bits.Add64(w.low, other.low, 0)
	high, _ := bits.Add64(w.high, other.high, carry)
	return uint128{high, low}
}

func (w uint128) less(other uint128) bool {
	return w.high < other.high || w.high == other.high && w.low < other.low
}

// units returns what counts at that moment: in the current and the previous window, or as in use.
func (h *history) units(l limiter.Limit, at int64) (current, previous int64) {
	w := l.Window.Milliseconds()
	if l.Algorithm == limiter.TokenBucket {
		tokens, rest := new(big.Int).QuoRem(h.debtAt(l, at), big.NewInt(w), new(big.Int))
		return tokens.Int64() + int64(rest.Sign()), 0
	}
	for _, e := range h.expenses {
		switch {
		case l.Algorithm == limiter.SlidingLog:
			if e.at > at-w {
				current += e.units
			}
		case l.Algorithm == limiter.StrictWindow:
			if partStart(l, e.at)+partsTime(l) > at {
				current += e.units
			}
		case e.at/w == at/w:
			current += e.units
		case e.at/w == at/w-1 && l.Algorithm == limiter.SlidingWindow:
			previous += e.units
		}
	}
	return current, previous
}

// strictParts is into how many parts the window of a StrictWindow is cut.
const strictParts = 10

// partLength returns how long a part of a StrictWindow is: the shortest time in whole milliseconds of which so many
// cover the window.
func partLength(l limiter.Limit) int64 {
	w := l.Window.Milliseconds()
	return int64(sort.Search(int(w), func(n int) bool { return int64(n)*strictParts >= w }))
}

// partStart returns when the part of a StrictWindow began to which that moment belongs.
func partStart(l limiter.Limit, at int64) int64 { return at - at%partLength(l) }

// partsTime returns for how long units of a StrictWindow count from the start of their part on: for the part itself,
// and then for as many as cover a window.
func partsTime(l limiter.Limit) int64 {
	part := partLength(l)
	for time := part; ; time += part {
		if time >= l.Window.Milliseconds() {
			return part + time
		}
	}
}

// debtAt returns the debt less what was refilled since, at the rate of l: under a limit of 0 at that of 1.
func (h *history) debtAt(l limiter.Limit, at int64) *big.Int {
	if h.debt == nil {
		return new(big.Int)
	}
	left := product(max(0, at-h.at), max(1, l.Requests))
	if left.Sub(h.debt, left).Sign() < 0 {
		return new(big.Int)
	}
	return left
}

func (h *history) remaining(l limiter.Limit, at int64) int64 {
	return int64(sort.Search(int(capacity(l)), func(n int) bool { return !h.fits(l, at, int64(n)+1) }))
}

func (h *history) retryAfter(l limiter.Limit, at, cost int64) time.Duration {
	if cost > capacity(l) {
		return limiter.Never
	}
	return first(1, func(d int64) bool { return h.fits(l, at+d, cost) })
}

func (h *history) resetAfter(l limiter.Limit, at int64) time.Duration {
	return first(0, func(d int64) bool { return h.fits(l, at+d, capacity(l)) })
}

// spend adds n units at that moment.
func (h *history) spend(l limiter.Limit, at, n int64) {
	if l.Algorithm == limiter.TokenBucket {
		h.debt = new(big.Int).Add(h.debtAt(l, at), product(n, l.Window.Milliseconds()))
		h.at, h.last = at, l
		return
	}
	twoWindows := at - 2*l.Window.Milliseconds()
	h.expenses = slices.DeleteFunc(h.expenses, func(e expense) bool { return e.at <= twoWindows || e.units == 0 })
	if n > 0 {
		h.expenses = append(h.expenses, expense{at, n})
	}
}

// refund takes n units off, the newest first, of those that a refund for the moment refundAt may take, and reports
// whether there were any.
func (h *history) refund(l limiter.Limit, at, refundAt, n int64) (refunded bool) {
	if l.Algorithm == limiter.TokenBucket {
		debt := h.debtAt(l, at)
		if n == 0 || debt.Sign() == 0 {
			return false
		}
		h.debt, h.at, h.last = debt.Sub(debt, product(n, l.Window.Milliseconds())), at, l
		if h.debt.Sign() < 0 {
			h.debt = nil
		}
		return true
	}
	for i := len(h.expenses) - 1; i >= 0; i-- {
		if e := &h.expenses[i]; takesRefund(l, at, refundAt, e.at) {
			back := min(n, e.units)
			e.units -= back
			n -= back
			refunded = refunded || back > 0
		}
	}
	return refunded
}

// takesRefund reports whether units spent at the moment at may be refunded, by a refund for refundAt (0: any).
func takesRefund(l limiter.Limit, now, refundAt, at int64) bool {
	w := l.Window.Milliseconds()
	switch l.Algorithm {
	case limiter.SlidingLog:
		return at > now-w && (refundAt == 0 || refundAt > now-w)
	case limiter.StrictWindow:
		return partStart(l, at)+partsTime(l) > now && (refundAt == 0 || partStart(l, refundAt) == partStart(l, at))
	}
	return at/w >= now/w-1 && (refundAt == 0 || refundAt/w == at/w)
}

// isCurrent reports whether a refund for refundAt may take units that are spent now.
func (h *history) isCurrent(l limiter.Limit, now, refundAt int64) bool {
	return l.Algorithm == limiter.TokenBucket || takesRefund(l, now, refundAt, now)
}

func capacity(l limiter.Limit) int64 {
	if l.Burst > 0 {
		return l.Burst
	}
	return l.Requests
}

// first returns the smallest number of milliseconds, from least on, for which ok is true. Once true, ok stays true:
// without other traffic what remains only grows. A wait that no Duration holds becomes the longest one.
func first(least int64, ok func(int64) bool) time.Duration {
	const longest = math.MaxInt64 / int64(time.Millisecond)
	if ok(least) {
		return time.Duration(least) * time.Millisecond
	}
	low, high := least, least+1
	for !ok(high) {
		if low = high; low >= longest {
			return time.Duration(longest) * time.Millisecond
		}
		high = min(longest, 2*high)
	}
	found := sort.Search(int(high-low), func(d int) bool { return ok(low + int64(d)) })
	return time.Duration(low+int64(found)) * time.Millisecond
}

func product(a, b int64) *big.Int { return new(big.Int).Mul(big.NewInt(a), big.NewInt(b)) }
