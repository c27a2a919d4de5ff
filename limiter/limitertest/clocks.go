package limitertest

import (
	"fmt"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// clockSteps are by how much a clock is set, in windows of that length.
func clockSteps(window time.Duration) []time.Duration {
	return []time.Duration{
		time.Millisecond, 10 * time.Millisecond, window / 8, window / 2, window - time.Millisecond, window,
		window + time.Millisecond, 2 * window, 17 * window, 32 * window, 40 * 24 * time.Hour,
	}
}

// eachStep calls step for windows, steps of the clock, and places in the window from which it is set, each with a
// key of its own with a limit of 10 units.
func (s *storeTest) eachStep(step func(key limiter.Charge, size time.Duration)) {
	s.Helper()
	for _, window := range []time.Duration{time.Second, time.Hour} {
		for _, size := range clockSteps(window) {
			for _, position := range []time.Duration{0, window / 4, window - 5*time.Millisecond} {
				s.align(window)
				s.Advance(position)
				name := fmt.Sprintf("%v from %v into a window of %v", size, position, window)
				step(limiter.Charge{Scope: "scope", Key: name, Limit: s.per(10, window), Cost: 1}, size)
			}
		}
	}
}

func testClockBack(s *storeTest) {
	s.eachStep(func(key limiter.Charge, size time.Duration) {
		s.pass(cost(10, key))
		s.Advance(-size)
		s.wantBriefRefusal(key)
	})
	s.eachStep(func(key limiter.Charge, size time.Duration) {
		key.Key += ", not at its limit"
		s.pass(cost(4, key))
		s.Advance(-size)
		if got := s.ask(as(limiter.Peek, key)); got.Remaining > 6 {
			s.Errorf("clock set back by %s: 4 of 10 units spent leave %d, want at most 6", key.Key, got.Remaining)
		}
		s.Advance(2 * key.Limit.Window)
		if got := s.ask(as(limiter.Peek, key)); got.Remaining != 10 {
			s.Errorf("two windows after the clock was set back by %s, %d of 10 units are left, want all", key.Key, got.Remaining)
		}
	})
}

func testClockForward(s *storeTest) {
	s.eachStep(func(key limiter.Charge, size time.Duration) {
		s.pass(cost(10, key))
		s.Advance(size)
		s.take(key)
		s.wantAsOracle(key)
		s.Advance(2 * key.Limit.Window)
		s.wantLeft(10, key)
	})
}

func testClockForwardAndBack(s *storeTest) {
	s.eachStep(func(key limiter.Charge, size time.Duration) {
		s.pass(cost(5, key))
		s.Advance(size)
		left := s.pass(as(limiter.Peek, key))[0].Remaining
		s.pass(cost(left, key))
		s.refuse(key)
		s.Advance(-size)
		s.wantBriefRefusal(key)
	})
}

// wantBriefRefusal expects a key at its limit to be refused after the clock was set, but not for long, and exactly as
// long as its RetryAfter. The oracle is not asked: the contract leaves open how the store moves its counts.
func (s *storeTest) wantBriefRefusal(key limiter.Charge) {
	s.Helper()
	got := s.ask(key)
	if got.Allowed {
		s.Errorf("clock set by %s: a key at its limit is admitted\n%v", key.Key, describe(&got))
		return
	}
	longest := 2 * key.Limit.Window
	if s.algorithm == limiter.TokenBucket {
		longest = key.Limit.Window // in which it refills from empty
	}
	if got.RetryAfter <= 0 || got.RetryAfter > longest {
		s.Errorf("clock set by %s: retry after %v, want at most %v", key.Key, got.RetryAfter, longest)
		return
	}
	s.Advance(got.RetryAfter - time.Millisecond)
	if early := s.ask(key); early.Allowed {
		s.Errorf("clock set by %s: admitted 1 ms before its RetryAfter of %v\n%v", key.Key, got.RetryAfter, describe(&early))
		return
	}
	s.Advance(time.Millisecond)
	if then := s.ask(key); !then.Allowed {
		s.Errorf("clock set by %s: still refused after its RetryAfter of %v\n%v", key.Key, got.RetryAfter, describe(&then))
	}
}

// ask passes one charge to the store, and not to the oracle.
func (s *storeTest) ask(c limiter.Charge) limiter.Charge {
	s.Helper()
	charges := []limiter.Charge{c}
	if _, err := s.Store.Take(s.Context(), charges); err != nil {
		s.Fatalf("Take of\n%v\nfails: %v", batch(charges), err)
	}
	return charges[0]
}
