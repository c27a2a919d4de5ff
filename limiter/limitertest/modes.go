package limitertest

import (
	"math"

	"github.com/httplimit/httplimit/limiter"
)

func testShadow(s *storeTest) {
	enforced, shadow := s.charge("enforced", 3, 1), as(limiter.Shadow, s.charge("shadow", 1, 1))
	s.pass(enforced, shadow)
	if answers := s.pass(shadow, enforced); answers[0].Allowed || answers[0].RetryAfter == 0 {
		s.Errorf("second unit of 1 in shadow: allowed %t, retry after %v, want false and a time", answers[0].Allowed,
			answers[0].RetryAfter)
	}
	s.wantLeft(1, enforced)
	s.wantLeft(0, shadow)

	// What would fit is not spent either if the batch is refused.
	fresh := as(limiter.Shadow, s.charge("fresh", 1, 1))
	s.pass(enforced)
	s.refuse(enforced, fresh)
	s.refuse(fresh, enforced)
	s.wantLeft(1, fresh)

	// One that does not fit is left out alone, not the ones beside it.
	other := s.charge("other", 1, 1)
	s.pass(as(limiter.Shadow, cost(2, fresh)), other, fresh)
	s.wantLeft(0, other)
	s.wantLeft(0, fresh)
}

func testPeek(s *storeTest) {
	key := s.charge("key", 5, 0)
	peek := as(limiter.Peek, key)
	for range 3 {
		s.pass(cost(5, peek))
	}
	s.wantLeft(5, key)
	s.pass(cost(3, key), cost(2, peek))

	for _, n := range []int64{0, 1, 2, 3, 5, 6} {
		seen := s.pass(cost(n, peek))[0]
		got, taken := s.take(cost(n, key))
		if seen.Allowed != taken || (seen.RetryAfter == limiter.Never) != (got[0].RetryAfter == limiter.Never) {
			s.Errorf("Peek of %d units returns\n%v\nand the charge gets\n%v", n, describe(&seen), describe(&got[0]))
		}
		if taken && n > 0 {
			s.pass(cost(-n, key))
		}
	}

	// Peek sees what its batch has spent before it, and refuses nothing.
	answers := s.pass(cost(2, key), cost(1, peek))
	if answers[1].Allowed {
		s.Errorf("Peek of 1 unit after 5 of 5: allowed, want not")
	}
	s.refuse(cost(1, key), cost(0, peek))
}

func testForce(s *storeTest) {
	key, force := s.charge("key", 5, 1), as(limiter.Force, s.charge("key", 5, 1))
	s.pass(cost(3, force))
	s.wantLeft(2, key)
	if answers := s.pass(cost(4, force)); !answers[0].Allowed || answers[0].Remaining != 0 {
		s.Errorf("4 units forced onto 3 of 5: allowed %t, remaining %d, want true and 0", answers[0].Allowed,
			answers[0].Remaining)
	}
	s.refuse(key)
	s.refuse(cost(0, key))
	s.pass(cost(-2, key))
	s.pass(cost(0, key)) // 5 of 5
	s.refuse(key)
	s.pass(cost(-1, key))
	s.pass(key)

	// It is spent with its batch, not on its own.
	other := as(limiter.Force, s.charge("other", 5, 9))
	s.refuse(other, cost(2, key))
	s.wantLeft(5, other)
}

func testSaturation(s *storeTest) {
	key := s.charge("key", 10, 1)
	key.Limit.Window = s.wideWindow()
	for range 3 {
		if answers := s.pass(as(limiter.Peek, cost(0, key)),
			as(limiter.Force, cost(math.MaxInt64, key))); answers[1].Remaining != 0 {
			s.Errorf("MaxInt64 units forced onto a limit of 10 leave %d units, want 0", answers[1].Remaining)
		}
		if s.algorithm == limiter.TokenBucket {
			break // its debt ends at 2^53, not at a count
		}
	}
	if got := s.pass(as(limiter.Peek, cost(0, key)))[0]; got.Current+got.Previous < limiter.MaxCount-1 {
		s.Errorf("MaxInt64 units forced onto a limit of 10 count as %d units, want %d", got.Current, limiter.MaxCount)
	}
	s.refuse(key)
	s.wantLeft(10, s.charge("another", 10, 1))
	s.reset(key)
	s.pass(cost(10, key))
}

func testMixedModes(s *storeTest) {
	key, other := s.charge("key", 10, 0), s.charge("other", 10, 0)
	s.pass(
		cost(4, key),
		as(limiter.Peek, cost(6, key)),   // fits, spends nothing
		as(limiter.Shadow, cost(3, key)), // fits: 7
		as(limiter.Shadow, cost(4, key)), // does not
		cost(2, key),                     // 9
		as(limiter.Force, cost(5, key)),  // 14
		as(limiter.Peek, cost(0, key)),   // over its limit
		cost(1, other),
	)
	s.refuse(cost(1, other), cost(0, key))
	s.pass(cost(-14, key))
	s.wantLeft(10, key)
	s.wantLeft(9, other)

	s.refuse(
		as(limiter.Force, cost(10, key)),
		as(limiter.Shadow, cost(3, other)),
		as(limiter.Peek, cost(1, key)),
		cost(1, key),
	)
	s.wantLeft(10, key)
	s.wantLeft(9, other)
}

func testCostAboveCapacity(s *storeTest) {
	key, other := s.charge("key", 5, 0), s.charge("other", 5, 0)
	for _, n := range []int64{6, 1 << 24, 1 << 31, 1 << 53, math.MaxInt64} {
		if answers := s.refuse(cost(1, other), cost(n, key)); answers[1].RetryAfter != limiter.Never {
			s.Errorf("%d of 5 units: retry after %v, want never", n, answers[1].RetryAfter)
		}
		s.pass(as(limiter.Peek, cost(n, key)), as(limiter.Shadow, cost(n, key)))
	}
	s.refuse(cost(5, key), cost(math.MaxInt64, key), cost(math.MaxInt64, key))
	s.wantLeft(5, other)
	s.pass(cost(5, key))
}
