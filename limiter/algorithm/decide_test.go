package algorithm_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
	"github.com/httplimit/httplimit/limiter/internal/refstore"
)

// asked is one charge of a batch, on one of two counters.
type asked struct {
	counter int
	mode    limiter.Mode
	cost    int64
}

// Counters hold 4 of 10 units each, in the current window.
func TestDecide(t *testing.T) {
	const (
		enforce = limiter.Enforce
		shadow  = limiter.Shadow
		peek    = limiter.Peek
		force   = limiter.Force
	)
	for _, tc := range []struct {
		name            string
		batch           []asked
		taken           bool
		allowed         []bool
		remaining       []int64
		spent, returned [2]int64
	}{
		{"nothing", nil, true, nil, nil, [2]int64{}, [2]int64{}},
		{"one", []asked{{0, enforce, 6}}, true, []bool{true}, []int64{0}, [2]int64{6, 0}, [2]int64{}},
		{"too much", []asked{{0, enforce, 7}}, false, []bool{false}, []int64{6}, [2]int64{}, [2]int64{}},
		{
			"two counters", []asked{{0, enforce, 1}, {1, enforce, 2}},
			true, []bool{true, true}, []int64{5, 4}, [2]int64{1, 2}, [2]int64{},
		},
		{
			"first refuses", []asked{{0, enforce, 7}, {1, enforce, 2}},
			false, []bool{false, true}, []int64{6, 6}, [2]int64{}, [2]int64{},
		},
		{
			"last refuses", []asked{{1, enforce, 2}, {0, enforce, 7}},
			false, []bool{true, false}, []int64{6, 6}, [2]int64{}, [2]int64{},
		},
		{
			"one counter twice", []asked{{0, enforce, 2}, {0, enforce, 4}},
			true, []bool{true, true}, []int64{4, 0}, [2]int64{6, 0}, [2]int64{},
		},
		{
			"one counter twice, too much", []asked{{0, enforce, 2}, {0, enforce, 5}},
			false, []bool{true, false}, []int64{6, 6}, [2]int64{}, [2]int64{},
		},
		{
			"what does not fit is left out", []asked{{0, enforce, 7}, {0, enforce, 6}},
			false, []bool{false, true}, []int64{6, 6}, [2]int64{}, [2]int64{},
		},
		{"shadow fits", []asked{{0, shadow, 6}}, true, []bool{true}, []int64{0}, [2]int64{6, 0}, [2]int64{}},
		{
			"shadow does not fit", []asked{{0, shadow, 7}, {1, enforce, 1}, {0, enforce, 6}},
			true, []bool{false, true, true}, []int64{6, 5, 0}, [2]int64{6, 1}, [2]int64{},
		},
		{
			"peek", []asked{{0, peek, 6}, {0, peek, 7}, {0, enforce, 6}, {0, peek, 1}},
			true, []bool{true, false, true, false}, []int64{6, 6, 0, 0}, [2]int64{6, 0}, [2]int64{},
		},
		{
			"force", []asked{{0, force, 20}, {0, peek, 0}, {1, force, 1}},
			true, []bool{true, false, true}, []int64{0, 0, 5}, [2]int64{20, 1}, [2]int64{},
		},
		{
			"force with a refusal", []asked{{0, force, 20}, {1, enforce, 7}},
			false, []bool{true, false}, []int64{6, 6}, [2]int64{}, [2]int64{},
		},
		{
			"force saturates", []asked{{0, force, math.MaxInt64}, {0, force, math.MaxInt64}},
			true, []bool{true, true}, []int64{0, 0}, [2]int64{limiter.MaxCount - 4, 0}, [2]int64{},
		},
		{"refund", []asked{{0, enforce, -3}}, true, []bool{true}, []int64{9}, [2]int64{}, [2]int64{3, 0}},
		{
			"refund too much", []asked{{0, enforce, math.MinInt64}},
			true, []bool{true}, []int64{10}, [2]int64{}, [2]int64{4, 0},
		},
		{
			"refund from the batch first", []asked{{0, enforce, 2}, {0, enforce, -3}},
			true, []bool{true, true}, []int64{4, 7}, [2]int64{}, [2]int64{1, 0},
		},
		{
			"refund makes units free", []asked{{0, enforce, -4}, {0, enforce, 10}},
			true, []bool{true, true}, []int64{10, 0}, [2]int64{10, 0}, [2]int64{4, 0},
		},
		{
			"refund rolled back", []asked{{0, enforce, -4}, {1, enforce, 7}},
			false, []bool{true, false}, []int64{6, 6}, [2]int64{}, [2]int64{},
		},
		{"refund with a peek", []asked{{0, peek, -4}}, true, []bool{true}, []int64{6}, [2]int64{}, [2]int64{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, kind := range []limiter.Algorithm{limiter.SlidingWindow, limiter.SlidingLog, limiter.FixedWindow,
				limiter.TokenBucket, limiter.StrictWindow} {
				l := limiter.Limit{Requests: 10, Window: time.Minute, Algorithm: kind}
				counters := []algorithm.Usage{holding(t, l, 4), holding(t, l, 4)}
				var (
					charges []limiter.Charge
					of      []int
				)
				for _, a := range tc.batch {
					charges = append(charges, limiter.Charge{Limit: l, Cost: a.cost, Mode: a.mode})
					of = append(of, a.counter)
				}
				if taken := algorithm.Decide(charges, counters, of); taken != tc.taken {
					t.Errorf("%v: taken %t, want %t", kind, taken, tc.taken)
				}
				var (
					allowed   []bool
					remaining []int64
				)
				for _, c := range charges {
					allowed, remaining = append(allowed, c.Allowed), append(remaining, c.Remaining)
				}
				if !slices.Equal(allowed, tc.allowed) || !slices.Equal(remaining, tc.remaining) {
					t.Errorf("%v: allowed %v, remaining %v, want %v, %v", kind, allowed, remaining, tc.allowed, tc.remaining)
				}
				for i, u := range counters {
					spent := tc.spent[i]
					if kind == limiter.TokenBucket && spent == limiter.MaxCount-4 {
						spent = limiter.MaxCount // its debt is not part of Current
					}
					if u.Spent != spent || u.Returned != tc.returned[i] {
						t.Errorf("%v: counter %d spent %d, returned %d, want %d, %d", kind, i, u.Spent, u.Returned, spent, tc.returned[i])
					}
				}
				if !tc.taken {
					wantUntouched(t, counters, holding(t, l, 4))
				}
			}
		})
	}
}

// holding is a counter with n units spent just now.
func holding(t *testing.T, l limiter.Limit, n int64) algorithm.Usage {
	t.Helper()
	var c refstore.Counter
	u := c.Load(l, noon)
	charge := limiter.Charge{Limit: l, Cost: n, Mode: limiter.Force}
	if !u.Judge(&charge) {
		t.Fatalf("%v: Force of %d does not fit", l, n)
	}
	c.Save(l, &u)
	return c.Load(l, noon)
}

func wantUntouched(t *testing.T, counters []algorithm.Usage, want algorithm.Usage) {
	t.Helper()
	for i, u := range counters {
		if u.Current != want.Current || u.Previous != want.Previous || u.Debt != want.Debt {
			t.Errorf("counter %d after a refusal holds %d, %d and a debt of %d, want %d, %d, %d",
				i, u.Current, u.Previous, u.Debt, want.Current, want.Previous, want.Debt)
		}
	}
}

// RetryAfter of a charge includes the units that its batch spends before it.
func TestRetryAfterOfABatch(t *testing.T) {
	l := fixed(10, time.Minute)
	for _, tc := range []struct {
		name        string
		first, then int64
		want        time.Duration
	}{
		{"both would fit a new window", 3, 4, time.Minute},
		{"together they fit it exactly", 6, 4, time.Minute},
		{"together they fit none", 6, 5, limiter.Never},
		{"alone it fits none", 1, 11, limiter.Never},
		{"costs that overflow together", 5, math.MaxInt64, limiter.Never},
	} {
		t.Run(tc.name, func(t *testing.T) {
			counters := []algorithm.Usage{holding(t, l, 4)}
			charges := []limiter.Charge{{Limit: l, Cost: tc.first}, {Limit: l, Cost: tc.then}}
			if algorithm.Decide(charges, counters, []int{0, 0}) {
				t.Fatal("taken, want refused")
			}
			if got := charges[1].RetryAfter; got != tc.want {
				t.Errorf("retry after %v, want %v", got, tc.want)
			}
			if charges[0].RetryAfter != 0 {
				t.Errorf("retry after %v for the charge that fits, want 0", charges[0].RetryAfter)
			}
		})
	}
}

// A refusal leaves no trace in either window, wherever a refund went.
func TestRefusalUndoesRefundsOfBothWindows(t *testing.T) {
	l := limiter.PerMinute(10)
	now := noon + 30_000
	number := now / l.Window.Milliseconds()
	counters := []algorithm.Usage{windowUsage(l, now, number, 2, 6)}
	charges := []limiter.Charge{{Limit: l, Cost: -5}, {Limit: l, Cost: 11}}
	if algorithm.Decide(charges, counters, []int{0, 0}) {
		t.Fatal("taken, want refused")
	}
	if u := counters[0]; u.Current != 2 || u.Previous != 6 || u.Returned != 0 {
		t.Errorf("current %d, previous %d, returned %d, want 2, 6, 0", u.Current, u.Previous, u.Returned)
	}
	if got := charges[0].Remaining; got != 5 {
		t.Errorf("remaining %d, want the 5 of before the refund", got)
	}
}
