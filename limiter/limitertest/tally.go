package limitertest

import (
	"math"
	"math/big"
	"slices"
	"sort"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// tally is all that was spent from one counter: for a TokenBucket its debt, for the others every single expense.
type tally struct {
	expenses []expense // oldest first

	debt *big.Int      // tokens times the window in milliseconds; nil: none
	at   int64         // when the debt was that
	last limiter.Limit // that of the last charge
}

type expense struct{ at, units int64 }

func (t *tally) clone() *tally {
	return &tally{slices.Clone(t.expenses), t.debt, t.at, t.last}
}

// fits is the definition: may n units more be spent at that moment?
func (t *tally) fits(l limiter.Limit, at, n int64) bool {
	w := l.Window.Milliseconds()
	if l.Algorithm == limiter.TokenBucket {
		// debt + n x W <= capacity x W
		want := product(n, w)
		return want.Add(want, t.debtAt(l, at)).Cmp(product(capacity(l), w)) <= 0
	}
	current, previous := t.units(l, at)
	if l.Algorithm != limiter.SlidingWindow {
		return current+n <= l.Requests
	}
	// p x (W-e) + (c+n) x W <= L x W + (W-1)
	want := product(previous, w-at%w)
	want.Add(want, product(current+n, w))
	most := product(l.Requests, w)
	return want.Cmp(most.Add(most, big.NewInt(w-1))) <= 0
}

// units are what counts at that moment: in the current and in the previous window, or in use.
func (t *tally) units(l limiter.Limit, at int64) (current, previous int64) {
	w := l.Window.Milliseconds()
	if l.Algorithm == limiter.TokenBucket {
		tokens, rest := new(big.Int).QuoRem(t.debtAt(l, at), big.NewInt(w), new(big.Int))
		return tokens.Int64() + int64(rest.Sign()), 0
	}
	for _, e := range t.expenses {
		switch {
		case l.Algorithm == limiter.SlidingLog:
			if e.at > at-w {
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

// debtAt is the debt less what was refilled since, at the present rate.
func (t *tally) debtAt(l limiter.Limit, at int64) *big.Int {
	if t.debt == nil {
		return new(big.Int)
	}
	left := product(max(0, at-t.at), l.Requests)
	if left.Sub(t.debt, left).Sign() < 0 {
		return new(big.Int)
	}
	return left
}

func (t *tally) remaining(l limiter.Limit, at int64) int64 {
	return int64(sort.Search(int(capacity(l)), func(n int) bool { return !t.fits(l, at, int64(n)+1) }))
}

func (t *tally) retryAfter(l limiter.Limit, at, cost int64) time.Duration {
	if cost > capacity(l) {
		return limiter.Never
	}
	return first(1, func(d int64) bool { return t.fits(l, at+d, cost) })
}

func (t *tally) resetAfter(l limiter.Limit, at int64) time.Duration {
	return first(0, func(d int64) bool { return t.fits(l, at+d, capacity(l)) })
}

// spend adds n units at that moment.
func (t *tally) spend(l limiter.Limit, at, n int64) {
	if l.Algorithm == limiter.TokenBucket {
		t.debt = new(big.Int).Add(t.debtAt(l, at), product(n, l.Window.Milliseconds()))
		t.at, t.last = at, l
		return
	}
	twoWindows := at - 2*l.Window.Milliseconds()
	t.expenses = slices.DeleteFunc(t.expenses, func(e expense) bool { return e.at <= twoWindows || e.units == 0 })
	if n > 0 {
		t.expenses = append(t.expenses, expense{at, n})
	}
}

// refund takes n units off, the newest first, of those that lie where givesTo says, and tells whether there were any.
func (t *tally) refund(l limiter.Limit, at, givesTo, n int64) (gave bool) {
	if l.Algorithm == limiter.TokenBucket {
		debt := t.debtAt(l, at)
		if n == 0 || debt.Sign() == 0 {
			return false
		}
		t.debt, t.at, t.last = debt.Sub(debt, product(n, l.Window.Milliseconds())), at, l
		if t.debt.Sign() < 0 {
			t.debt = nil
		}
		return true
	}
	for i := len(t.expenses) - 1; i >= 0; i-- {
		if e := &t.expenses[i]; takesRefund(l, at, givesTo, e.at) {
			back := min(n, e.units)
			e.units -= back
			n -= back
			gave = gave || back > 0
		}
	}
	return gave
}

// takesRefund tells whether units spent at that moment may be given back by a refund for givesTo (0: any).
func takesRefund(l limiter.Limit, now, givesTo, at int64) bool {
	w := l.Window.Milliseconds()
	if l.Algorithm == limiter.SlidingLog {
		return at > now-w && (givesTo == 0 || givesTo > now-w)
	}
	return at/w >= now/w-1 && (givesTo == 0 || givesTo/w == at/w)
}

// isCurrent tells whether a refund for givesTo may give back units that are spent now.
func (t *tally) isCurrent(l limiter.Limit, now, givesTo int64) bool {
	return l.Algorithm == limiter.TokenBucket || takesRefund(l, now, givesTo, now)
}

func capacity(l limiter.Limit) int64 {
	if l.Burst > 0 {
		return l.Burst
	}
	return l.Requests
}

// first is the smallest number of milliseconds, from least on, at which ok holds. Once true, ok stays true: without
// other traffic room only grows. A wait that no Duration holds is the longest one.
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
