package algorithm_test

import (
	"math"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
)

func strict(n int64, window time.Duration) limiter.Limit {
	return limiter.Limit{Requests: n, Window: window, Algorithm: limiter.StrictWindow}
}

func strictUsage(l limiter.Limit, now int64, parts *algorithm.Parts) (u algorithm.Usage) {
	u.LoadStrict(&l, now, parts)
	return u
}

func TestPartsOf(t *testing.T) {
	for _, tc := range []struct {
		window         time.Duration
		length, before int64
	}{
		{time.Millisecond, 1, 1},
		{2 * time.Millisecond, 1, 2},
		{10 * time.Millisecond, 1, 10},
		{11 * time.Millisecond, 2, 6},
		{13 * time.Millisecond, 2, 7},
		{99 * time.Millisecond, 10, 10},
		{time.Second, 100, 10},
		{1009 * time.Millisecond, 101, 10},
		{time.Minute, 6_000, 10},
		{day, 8_640_000, 10},
		{year - time.Millisecond, 3_162_240_000, 10},
		{year, 3_162_240_000, 10},
	} {
		if length, before := algorithm.PartsOf(tc.window); length != tc.length || before != tc.before {
			t.Errorf("%v: parts of %d ms, %d of them before the present one, want %d, %d", tc.window, length, before,
				tc.length, tc.before)
		}
	}
	// The parts before the present one cover a window, with fewer milliseconds to spare than a part has.
	for window := int64(1); window < 100_000; window++ {
		length, before := algorithm.PartsOf(time.Duration(window) * time.Millisecond)
		if spare := length*before - window; before < 1 || before > algorithm.StrictParts || spare < 0 || spare >= length {
			t.Fatalf("%d ms: parts of %d ms, %d of them before the present one", window, length, before)
		}
	}
}

// counts are those of a counter, the newest part first.
type counts [algorithm.StrictParts + 1]int64

func TestLoadStrict(t *testing.T) {
	stored := counts{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}
	for _, tc := range []struct {
		name   string
		parts  int64 // that pass, or by which the clock goes back
		counts counts
	}{
		{"the same part", 0, stored},
		{"the next part", 1, counts{0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512}},
		{"the last but one has left", 9, counts{9: 1, 10: 2}},
		{"only the newest is left", 10, counts{10: 1}},
		{"all have left", 11, counts{}},
		{"long after", 1 << 40, counts{}},
		{"the clock went back one part", -1, counts{3, 4, 8, 16, 32, 64, 128, 256, 512, 1024}},
		{"the clock went back nine parts", -9, counts{1023, 1024}},
		{"the clock went back ten parts", -10, counts{2047}},
		{"the clock went back far", -100_000, counts{2047}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := strict(10, time.Minute)
			number := noon / 6_000
			now := (number+tc.parts)*6_000 + 17
			parts := algorithm.Parts{Number: number, Counts: stored}
			u := strictUsage(l, now, &parts)
			if counts(parts.Counts) != tc.counts || parts.Number != number+tc.parts {
				t.Errorf("holds %v in part %d, want %v in part %d", parts.Counts, parts.Number, tc.counts, number+tc.parts)
			}
			var sum int64
			for _, n := range tc.counts {
				sum += n
			}
			if u.Current != sum || u.Previous != 0 || u.At != now || u.Number != number+tc.parts {
				t.Errorf("current %d, previous %d, part %d at %d, want %d, 0, %d at %d", u.Current, u.Previous, u.Number, u.At,
					sum, number+tc.parts, now)
			}
		})
	}
}

// A window of 13 ms has parts of 2 ms, and seven before the present one.
func TestLoadStrictWithFewerParts(t *testing.T) {
	l := strict(10, 13*time.Millisecond)
	parts := algorithm.Parts{Number: noon / 2, Counts: counts{1, 2, 4, 8, 16, 32, 64, 128}}
	if u := strictUsage(l, noon+2, &parts); u.Current != 127 {
		t.Errorf("one part later %d units are in use, want the 127 of the seven newest parts", u.Current)
	}
	if want := (counts{0, 1, 2, 4, 8, 16, 32, 64}); counts(parts.Counts) != want {
		t.Errorf("one part later: %v, want %v", parts.Counts, want)
	}
}

func TestStrictRefunds(t *testing.T) {
	number := noon / 6_000
	at := func(ago int64) int64 { return (number-ago)*6_000 + 5_999 }
	for _, tc := range []struct {
		name string
		cost int64
		at   int64
		want counts
	}{
		{"the present part", -2, at(0), counts{1, 1, 0, 2, 4, 10: 5}},
		{"an older part", -3, at(4), counts{3, 1, 0, 2, 1, 10: 5}},
		{"the oldest part", -5, at(10), counts{3, 1, 0, 2, 4}},
		{"more than the part holds", -5, at(3), counts{3, 1, 0, 0, 4, 10: 5}},
		{"an empty part", -5, at(2), counts{3, 1, 0, 2, 4, 10: 5}},
		{"a part that has left", -5, at(11), counts{3, 1, 0, 2, 4, 10: 5}},
		{"a part of the future", -5, at(-1), counts{3, 1, 0, 2, 4, 10: 5}},
		{"without a moment", -5, 0, counts{0, 0, 0, 1, 4, 10: 5}},
		{"everything", math.MinInt64, 0, counts{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			parts := algorithm.Parts{Number: number, Counts: counts{3, 1, 0, 2, 4, 10: 5}}
			u := strictUsage(strict(20, time.Minute), at(0), &parts)
			c := limiter.Charge{Limit: strict(20, time.Minute), Cost: tc.cost, State: limiter.State{At: tc.at}}
			if !u.Judge(&c) || counts(parts.Counts) != tc.want {
				t.Errorf("leaves %v, want %v", parts.Counts, tc.want)
			}
			var left int64
			for _, n := range tc.want {
				left += n
			}
			if u.Current != left || u.Returned != 15-left || c.Remaining != 20-left {
				t.Errorf("%d units in use, %d returned, %d remaining, want %d, %d, %d", u.Current, u.Returned, c.Remaining,
					left, 15-left, 20-left)
			}
		})
	}
}

// A refusal leaves no trace in any part, wherever the refunds of its batch went.
func TestStrictRefusalUndoesRefunds(t *testing.T) {
	l, number := strict(20, time.Minute), noon/6_000
	held := counts{3, 1, 0, 2, 4, 10: 5}
	parts := algorithm.Parts{Number: number, Counts: held}
	counters := []algorithm.Usage{strictUsage(l, noon, &parts)}
	charges := []limiter.Charge{
		{Limit: l, Cost: 2}, {Limit: l, Cost: -4}, {Limit: l, Cost: -1, State: limiter.State{At: noon - 24_000}},
		{Limit: l, Cost: 21},
	}
	if algorithm.Decide(charges, counters, []int{0, 0, 0, 0}) {
		t.Fatal("taken, want refused")
	}
	if u := counters[0]; counts(parts.Counts) != held || u.Current != 15 || u.Spent != 0 || u.Returned != 0 {
		t.Errorf("holds %v, %d units, spent %d, returned %d, want %v, 15, 0, 0", parts.Counts, u.Current, u.Spent,
			u.Returned, held)
	}
	for i, c := range charges {
		if c.Remaining != 5 || c.Current != 15 {
			t.Errorf("charge %d: %d units remaining of %d, want the 5 and 15 of before the batch", i, c.Remaining, c.Current)
		}
	}
}

// Counts of any size are exact, and saturate at MaxCount.
func TestStrictSaturates(t *testing.T) {
	l := strict(1_000_000_000, year)
	length, _ := algorithm.PartsOf(year)
	parts := algorithm.Parts{Number: noon / length, Counts: counts{0, 1, 999_999_998}}
	u := strictUsage(l, noon, &parts)
	for _, step := range []struct {
		cost            int64
		mode            limiter.Mode
		fits            bool
		spent, remained int64
		retry           time.Duration
	}{
		{2, limiter.Enforce, false, 0, 1, year - year/10 - time.Duration(noon%length)*time.Millisecond},
		{1, limiter.Enforce, true, 1, 0, 0},
		{1_000_000_001, limiter.Enforce, false, 1, 0, limiter.Never},
		{math.MaxInt64, limiter.Force, true, limiter.MaxCount - 999_999_999, 0, 0},
		{1, limiter.Force, true, limiter.MaxCount - 999_999_999, 0, 0},
	} {
		c := limiter.Charge{Limit: l, Cost: step.cost, Mode: step.mode}
		if fits := u.Judge(&c); fits != step.fits || u.Spent != step.spent || c.Remaining != step.remained ||
			c.RetryAfter != step.retry {
			t.Errorf("cost %d: fits %t, spent %d, remaining %d, retry after %v, want %+v", step.cost, fits, u.Spent,
				c.Remaining, c.RetryAfter, step)
		}
	}
}
