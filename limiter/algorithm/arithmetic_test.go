package algorithm_test

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
)

// held is a counter as it is stored, of one of the three algorithms that need no log.
type held struct {
	limit             limiter.Limit
	at                int64 // when it was stored
	current, previous int64
	debt              int64
}

// fits is the definition, in numbers of any size: it reports whether n more units may be spent at that moment.
func (h held) fits(at, n int64) bool {
	w := h.limit.Window.Milliseconds()
	left, right := new(big.Int), mul(h.limit.Requests, w)
	switch boundaries := at/w - h.at/w; {
	case h.limit.Algorithm == limiter.TokenBucket:
		left.Sub(big.NewInt(h.debt), mul(at-h.at, h.limit.Requests))
		if left.Sign() < 0 {
			left.SetInt64(0)
		}
		right = mul(h.limit.Capacity(), w)
	case boundaries == 0:
		left = mul(h.current, w)
		if h.limit.Algorithm == limiter.SlidingWindow {
			left.Add(left, mul(h.previous, w-at%w))
			right.Add(right, big.NewInt(w-1))
		}
	case boundaries == 1 && h.limit.Algorithm == limiter.SlidingWindow:
		left = mul(h.current, w-at%w)
		right.Add(right, big.NewInt(w-1))
	}
	return left.Add(left, mul(n, w)).Cmp(right) <= 0
}

func mul(a, b int64) *big.Int { return new(big.Int).Mul(big.NewInt(a), big.NewInt(b)) }

func (h held) load() algorithm.Usage {
	if h.limit.Algorithm == limiter.TokenBucket {
		return bucketUsage(h.limit, h.at, h.at, h.debt)
	}
	return windowUsage(h.limit, h.at, h.at/h.limit.Window.Milliseconds(), h.current, h.previous)
}

// check judges one charge and compares each part of the answer with the definition.
func (h held) check(t *testing.T, cost int64) {
	t.Helper()
	u := h.load()
	c := limiter.Charge{Limit: h.limit, Cost: cost}
	fits := u.Judge(&c)
	if want := h.fits(h.at, min(cost, 1<<40)); fits != want || c.Allowed != want {
		t.Fatalf("%+v, cost %d: fits %t, allowed %t, want %t", h, cost, fits, c.Allowed, want)
	}
	after := h
	switch h.limit.Algorithm {
	case limiter.TokenBucket:
		after.debt = u.DebtAfter(h.limit)
	case limiter.FixedWindow:
		after.current, after.previous = u.Current+u.Spent, 0
	default:
		after.current = u.Current + u.Spent
	}
	if fits && cost > 0 && after == h || !fits && after.current+after.debt != h.current+h.debt {
		t.Errorf("%+v, cost %d, fits %t: left as %+v", h, cost, fits, after)
	}
	wantBound(t, "remaining", h, cost, c.Remaining, c.Remaining == 0 || after.fits(h.at, c.Remaining),
		!after.fits(h.at, c.Remaining+1))

	first := func(name string, wait time.Duration, in held, n int64) {
		t.Helper()
		// A wait that no Duration holds becomes the longest one.
		ms, longest := int64(wait/time.Millisecond), wait >= limiter.Never/time.Millisecond*time.Millisecond
		wantBound(t, name, h, cost, ms, longest || in.fits(h.at+ms, n), ms == 0 || !in.fits(h.at+ms-1, n))
	}
	switch {
	case fits && c.RetryAfter != 0, !fits && c.RetryAfter <= 0:
		t.Errorf("%+v, cost %d, fits %t: retry after %v", h, cost, fits, c.RetryAfter)
	case (c.RetryAfter == limiter.Never) != (cost > h.limit.Capacity()):
		t.Errorf("%+v, cost %d: retry after %v with a capacity of %d", h, cost, c.RetryAfter, h.limit.Capacity())
	case !fits && c.RetryAfter != limiter.Never:
		first("retry after", c.RetryAfter, h, cost)
	}
	first("reset after", c.ResetAfter, after, h.limit.Capacity())
}

// wantBound fails unless got is where something starts to hold: it holds there and not one step before.
func wantBound(t *testing.T, what string, h held, cost, got int64, holds, notBefore bool) {
	t.Helper()
	if got < 0 || !holds || !notBefore {
		t.Errorf("%+v, cost %d: %s is %d; holds there: %t, and not one step before: %t", h, cost, what, got, holds, notBefore)
	}
}

// The ends of the allowed range, where products pass 2^63.
func TestExtremes(t *testing.T) {
	const most = 1_000_000_000
	var limits []limiter.Limit
	for _, window := range []time.Duration{time.Millisecond, 7 * time.Millisecond, time.Hour, year - time.Millisecond,
		year} {
		for _, requests := range []int64{1, 2, most - 1, most} {
			limits = append(limits, limiter.Per(requests, window), fixed(requests, window))
			bucket := limiter.Limit{Requests: requests, Window: window, Algorithm: limiter.TokenBucket}
			for _, burst := range []int64{0, 1, 1 << 52 / bucket.Window.Milliseconds(), most} {
				if bucket.Burst = burst; bucket.Validate() == nil {
					limits = append(limits, bucket)
				}
			}
		}
	}
	for _, l := range limits {
		w := l.Window.Milliseconds()
		counts := []int64{0, 1, l.Requests / 2, l.Requests, l.Requests + 1, limiter.MaxCount}
		for _, at := range []int64{noon / w * w, noon/w*w + w/2, noon/w*w + w - 1} {
			for _, current := range counts {
				for _, previous := range counts {
					h := held{limit: l, at: at, current: current, previous: previous}
					if l.Algorithm == limiter.TokenBucket {
						h.debt, h.current, h.previous = min(1<<53-1, current*min(w, 1<<22)+previous%w), 0, 0
					}
					for _, cost := range []int64{0, 1, l.Requests, l.Requests + 1, l.Capacity(), math.MaxInt64} {
						h.check(t, cost)
					}
				}
			}
		}
		if t.Failed() {
			return
		}
	}
}

func FuzzUsage(f *testing.F) {
	f.Add(uint8(0), int64(10), int64(1000), int64(0), int64(500), int64(5), int64(10), int64(1))
	f.Add(uint8(1), int64(1_000_000_000), int64(366*86_400_000), int64(0), int64(0), int64(limiter.MaxCount),
		int64(limiter.MaxCount), int64(1_000_000_000))
	f.Add(uint8(2), int64(3), int64(1000), int64(7), int64(0), int64(6999), int64(0), int64(2))
	f.Fuzz(func(t *testing.T, kind uint8, requests, window, burst, elapsed, current, previous, cost int64) {
		into := func(n, most int64) int64 { return int64(uint64(n) % uint64(most)) }
		h := held{limit: limiter.Limit{
			Requests:  1 + into(requests, 1_000_000_000),
			Window:    time.Duration(1+into(window, int64(year/time.Millisecond))) * time.Millisecond,
			Algorithm: []limiter.Algorithm{limiter.SlidingWindow, limiter.FixedWindow, limiter.TokenBucket}[kind%3],
		}}
		h.at = noon + into(elapsed, h.limit.Window.Milliseconds())
		if h.limit.Algorithm == limiter.TokenBucket {
			h.limit.Burst = into(burst, 1_000_000_001)
			h.debt = into(current, 1<<53)
		} else {
			h.current, h.previous = into(current, limiter.MaxCount+1), into(previous, limiter.MaxCount+1)
		}
		if h.limit.Validate() == nil {
			h.check(t, into(cost, math.MaxInt64))
		}
	})
}
