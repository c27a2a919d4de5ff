package algorithm_test

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
)

var refusedByZero = limiter.Decision{RetryAfter: limiter.Never}

func zeroCharge(mode limiter.Mode, cost int64) limiter.Charge {
	return limiter.Charge{Key: "zero", Limit: limiter.PerMinute(0), Mode: mode, Cost: cost}
}

func TestAsksZero(t *testing.T) {
	five := limiter.Charge{Key: "five", Limit: limiter.PerMinute(5), Cost: 1}
	for _, tc := range []struct {
		name    string
		charges []limiter.Charge
		want    bool
	}{
		{"none", nil, false},
		{"another limit", []limiter.Charge{five}, false},
		{"one unit", []limiter.Charge{zeroCharge(limiter.Enforce, 1)}, true},
		{"cost 0", []limiter.Charge{zeroCharge(limiter.Enforce, 0)}, true},
		{"shadow", []limiter.Charge{zeroCharge(limiter.Shadow, 1)}, true},
		{"peek", []limiter.Charge{zeroCharge(limiter.Peek, 1)}, true},
		{"force", []limiter.Charge{zeroCharge(limiter.Force, 1)}, false},
		{"force of cost 0", []limiter.Charge{zeroCharge(limiter.Force, 0)}, false},
		{"a refund", []limiter.Charge{zeroCharge(limiter.Enforce, -1)}, false},
		{"the last", []limiter.Charge{five, five, zeroCharge(limiter.Enforce, 1)}, true},
	} {
		if got := algorithm.AsksZero(tc.charges); got != tc.want {
			t.Errorf("%s: got %t, want %t", tc.name, got, tc.want)
		}
	}
}

// TestTakeZeroAsksOnlyAboutTheOthers: what the store is asked, and what becomes of its answer.
func TestTakeZeroAsksOnlyAboutTheOthers(t *testing.T) {
	errDown := errors.New("down")
	five := limiter.Charge{Key: "five", Limit: limiter.PerMinute(5), Cost: 1}
	seven := limiter.Charge{Key: "seven", Limit: limiter.PerMinute(7), Cost: -1}
	shadow, peek, enforce := zeroCharge(limiter.Shadow, 1), zeroCharge(limiter.Peek, 0), zeroCharge(limiter.Enforce, 1)
	yes := limiter.Decision{Allowed: true, Remaining: 3}
	for _, tc := range []struct {
		name    string
		charges []limiter.Charge
		asked   []string // the keys
		taken   bool     // what the store answers
		cached  bool     // likewise
		err     error    // likewise

		want       bool
		decisions  []limiter.Decision
		wantCached bool
	}{
		{"enforced alone", []limiter.Charge{enforce}, nil, true, false, nil, false, []limiter.Decision{refusedByZero}, true},
		{"enforced, with others", []limiter.Charge{five, shadow, enforce, seven}, nil, true, false, nil,
			false, []limiter.Decision{{Allowed: true}, refusedByZero, refusedByZero, {Allowed: true}}, true},
		{"shadow alone", []limiter.Charge{shadow, peek}, nil, false, false, errDown,
			true, []limiter.Decision{refusedByZero, refusedByZero}, false},
		{"shadow, with others", []limiter.Charge{five, shadow, seven, peek}, []string{"five", "seven"}, true, false, nil,
			true, []limiter.Decision{yes, refusedByZero, yes, refusedByZero}, false},
		{"the others are refused", []limiter.Charge{peek, five}, []string{"five"}, false, false, nil,
			false, []limiter.Decision{refusedByZero, yes}, false},
		{"the others are refused from memory", []limiter.Charge{peek, five, seven}, []string{"five", "seven"},
			false, true, nil, false, []limiter.Decision{refusedByZero, yes, yes}, true},
		{"the others cannot be decided", []limiter.Charge{peek, five}, []string{"five"}, true, false, errDown,
			false, nil, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			charges := slices.Clone(tc.charges)
			for i := range charges { // as of charges that are used again
				charges[i].State = limiter.State{At: 5, Current: 5, Previous: 5}
				charges[i].Decision, charges[i].Cached = limiter.Decision{Allowed: true, Remaining: 9}, i%2 == 0
			}
			var asked []string
			taken, err := algorithm.TakeZero(charges, func(others []limiter.Charge) (bool, error) {
				for i := range others {
					asked = append(asked, others[i].Key)
					others[i].Decision, others[i].Cached = yes, tc.cached
				}
				return tc.taken, tc.err
			})
			if taken != tc.want || len(tc.asked) > 0 && !errors.Is(err, tc.err) {
				t.Fatalf("got %t, %v, want %t, %v", taken, err, tc.want, tc.err)
			}
			if !slices.Equal(asked, tc.asked) {
				t.Errorf("the store was asked about %q, want %q", asked, tc.asked)
			}
			if err != nil {
				return
			}
			for i, c := range charges {
				if c.Decision != tc.decisions[i] || c.Cached != tc.wantCached {
					t.Errorf("charge %d: got %+v, cached %t, want %+v, %t", i, c.Decision, c.Cached, tc.decisions[i], tc.wantCached)
				}
				if judged := c.Decision == yes; !judged && c.State != (limiter.State{}) {
					t.Errorf("charge %d, on which no counter was asked: got %+v, want the zero State", i, c.State)
				}
			}
		})
	}
}

func TestTakeZeroRefusesInvalidLimits(t *testing.T) {
	for name, l := range map[string]limiter.Limit{
		"the zero Limit": {}, "a burst": {Window: time.Second, Algorithm: limiter.TokenBucket, Burst: 3},
	} {
		taken, err := algorithm.TakeZero([]limiter.Charge{{Limit: l, Cost: 1}}, nil)
		if taken || err == nil {
			t.Errorf("%s: got %t, %v, want false and an error", name, taken, err)
		}
	}
}

func TestTakeZeroAllocatesNothing(t *testing.T) {
	charges := []limiter.Charge{zeroCharge(limiter.Enforce, 1)}
	if got := testing.AllocsPerRun(100, func() {
		_, _ = algorithm.TakeZero(charges, func([]limiter.Charge) (bool, error) { return false, nil })
	}); got != 0 {
		t.Errorf("a refusal allocates %v times, want 0", got)
	}
}

// TestDecideUnderALimitOfZero: a store that does not ask AsksZero first gets the same answer, for the price of a call.
func TestDecideUnderALimitOfZero(t *testing.T) {
	var u algorithm.Usage
	l := limiter.PerMinute(5)
	u.LoadWindow(&l, 90_000, 1, 3, 0)
	counters := []algorithm.Usage{u, u}
	charges := []limiter.Charge{{Key: "five", Limit: l, Cost: 1}, zeroCharge(limiter.Enforce, 0)}
	if algorithm.Decide(charges, counters, []int{0, 1}) {
		t.Error("taken, want it refused")
	}
	if got := charges[1]; got.Decision != refusedByZero || got.State != (limiter.State{}) {
		t.Errorf("got %+v of %+v, want %+v of the zero State", got.Decision, got.State, refusedByZero)
	}
	if got := charges[0]; !got.Allowed || got.Remaining != 2 || got.At != 90_000 || counters[0].Spent != 0 {
		t.Errorf("the other charge: got %+v, want it to fit and not to be spent", got)
	}
}

// TestBucketUnderALimitOfZero: nothing divides by 0; a bucket refills as under a limit of 1.
func TestBucketUnderALimitOfZero(t *testing.T) {
	zero := limiter.Limit{Window: time.Second, Algorithm: limiter.TokenBucket}
	for _, tc := range []struct {
		name       string
		passed     int64 // milliseconds since the bucket had a debt of 3 units
		cost       int64
		current    int64
		debt       int64
		resetAfter time.Duration
	}{
		{"nothing passed", 0, 2, 3, 5000, 5 * time.Second},
		{"one unit refilled", 1000, 2, 2, 4000, 4 * time.Second},
		{"part of a unit refilled", 1500, 0, 2, 1500, 1500 * time.Millisecond},
		{"a refund", 500, -1, 3, 1500, 1500 * time.Millisecond},
		{"full", 3000, 0, 0, 0, 0},
		{"after the longest idle time", math.MaxInt64 / 2, 1, 0, 1000, time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var u algorithm.Usage
			u.LoadBucket(&zero, tc.passed, 0, 3000)
			c := limiter.Charge{Limit: zero, Cost: tc.cost, Mode: limiter.Force}
			if !u.Judge(&c) {
				t.Fatal("Force does not fit, want it to")
			}
			if c.Current != tc.current || u.DebtAfter(zero) != tc.debt || c.ResetAfter != tc.resetAfter || c.Remaining != 0 {
				t.Errorf("got %d units in use, a debt of %d, full after %v, %d remaining; want %d, %d, %v, 0",
					c.Current, u.DebtAfter(zero), c.ResetAfter, c.Remaining, tc.current, tc.debt, tc.resetAfter)
			}
		})
	}
}
