package algorithm_test

import (
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
	"github.com/httplimit/httplimit/limiter/internal/refstore"
)

func TestWindowUsage(t *testing.T) {
	sliding, fixed := limiter.PerMinute(10), fixed(10, time.Minute)
	number := noon / sliding.Window.Milliseconds()
	for _, tc := range []struct {
		name              string
		limit             limiter.Limit
		stored            int64 // windows after the present one
		current, previous int64
	}{
		{"this window", sliding, 0, 7, 5},
		{"the next has begun", sliding, -1, 0, 7},
		{"both are over", sliding, -2, 0, 0},
		{"long over", sliding, -1000, 0, 0},
		{"the clock went back one window", sliding, 1, 12, 0},
		{"the clock went back far", sliding, 1000, 12, 0},
		{"this window", fixed, 0, 7, 0},
		{"the next has begun", fixed, -1, 0, 0},
		{"the clock went back one window", fixed, 1, 7, 0},
		{"the clock went back far", fixed, 1000, 7, 0},
	} {
		t.Run(tc.limit.Algorithm.String()+"/"+tc.name, func(t *testing.T) {
			u := windowUsage(tc.limit, noon, number+tc.stored, 7, 5)
			if u.Current != tc.current || u.Previous != tc.previous || u.Number != number || u.At != noon {
				t.Errorf("current %d, previous %d, number %d at %d, want %d, %d, %d at %d",
					u.Current, u.Previous, u.Number, u.At, tc.current, tc.previous, number, noon)
			}
		})
	}
}

// A key at its limit early in a window, 7 of the window before and 5 of its own, is set back to the end of that
// window, where the share of a previous one would be next to nothing.
func TestClockSetBackOverABoundaryFreesNoKey(t *testing.T) {
	l := limiter.PerMinute(10)
	number := noon / l.Window.Milliseconds()
	for _, now := range []int64{noon + 15_000, noon - 1} {
		u := windowUsage(l, now, number, 5, 7)
		if c := (limiter.Charge{Limit: l, Cost: 1}); u.Judge(&c) {
			t.Errorf("at %d ms from the boundary: %+v, want a refusal", now-noon, c.Decision)
		}
	}
	u := windowUsage(l, noon-1, number, limiter.MaxCount, limiter.MaxCount)
	if u.Current != limiter.MaxCount {
		t.Errorf("two full windows count as %d, want %d", u.Current, limiter.MaxCount)
	}
}

func TestBucketUsage(t *testing.T) {
	l := limiter.Limit{Requests: 10, Window: time.Second, Algorithm: limiter.TokenBucket} // 10 a millisecond
	for _, tc := range []struct {
		name       string
		passed     int64
		debt, want int64
	}{
		{"no time", 0, 5000, 5000},
		{"some", 100, 5000, 4000},
		{"one too few", 499, 5000, 10},
		{"enough", 500, 5000, 0},
		{"more than enough", 501, 5000, 0},
		{"a remainder", 500, 5001, 1},
		{"since the epoch", noon, 5000, 0},
		{"the clock went back", -100, 5000, 5000},
		{"the largest debt", 1, 1<<53 - 1, 1<<53 - 11},
		{"nothing stored", noon, 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if u := bucketUsage(l, noon, noon-tc.passed, tc.debt); u.Debt != tc.want || u.At != noon {
				t.Errorf("debt %d at %d, want %d at %d", u.Debt, u.At, tc.want, noon)
			}
		})
	}
}

func TestDebtAfter(t *testing.T) {
	l := limiter.Limit{Requests: 10, Window: 366 * day, Algorithm: limiter.TokenBucket}
	const most = 1<<53 - 1
	for _, tc := range []struct{ debt, spent, want int64 }{
		{0, 0, 0},
		{5, 1, 5 + 366*86_400_000},
		{0, limiter.MaxCount, most},
		{most, 0, most},
		{most, 1, most},
	} {
		u := algorithm.Usage{Debt: tc.debt, Spent: tc.spent}
		if got := u.DebtAfter(l); got != tc.want {
			t.Errorf("a debt of %d and %d units: %d, want %d", tc.debt, tc.spent, got, tc.want)
		}
	}
}

// A full bucket has nothing to refund, so a store need not write it.
func TestBucketReturnsNoMoreThanItHolds(t *testing.T) {
	l := limiter.Limit{Requests: 10, Window: time.Second, Algorithm: limiter.TokenBucket}
	for _, tc := range []struct{ debt, cost, want int64 }{
		{0, -5, 0}, {2500, -1, 1}, {2500, -2, 2}, {2500, -3, 3}, {2500, -100, 3},
	} {
		u := bucketUsage(l, noon, noon, tc.debt)
		c := limiter.Charge{Limit: l, Cost: tc.cost}
		u.Judge(&c)
		if u.Returned != tc.want {
			t.Errorf("%d units refunded to a debt of %d: returned %d, want %d", -tc.cost, tc.debt, u.Returned, tc.want)
		}
	}
}

// After a refund of its newest units, a log is empty when the newest of the others has expired.
func TestLogResetAfterARefund(t *testing.T) {
	l := limiter.Limit{Requests: 10, Window: time.Minute, Algorithm: limiter.SlidingLog}
	stored := &refstore.Counter{Log: []refstore.Units{{At: noon - 50_000, N: 2}, {At: noon - 20_000, N: 1},
		{At: noon - 5_000, N: 1}}}
	for _, tc := range []struct {
		cost int64
		want time.Duration
	}{
		{0, 55 * time.Second}, {-1, 40 * time.Second}, {-2, 10 * time.Second}, {-3, 10 * time.Second}, {-4, 0}, {-5, 0},
	} {
		u := stored.Load(l, noon)
		c := limiter.Charge{Limit: l, Cost: tc.cost}
		if u.Judge(&c); c.ResetAfter != tc.want {
			t.Errorf("%d of 4 units refunded: reset after %v, want %v", -tc.cost, c.ResetAfter, tc.want)
		}
	}
}
