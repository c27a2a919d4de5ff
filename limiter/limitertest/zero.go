package limitertest

import (
	"math"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

func testZero(s *storeTest) {
	key, zero := s.charge("key", 5, 1), s.charge("key", 0, 1)
	for _, n := range []int64{0, 1, 5, math.MaxInt64} {
		for _, mode := range []limiter.Mode{limiter.Enforce, limiter.Shadow, limiter.Peek} {
			c := as(mode, cost(n, zero))
			c.At = s.at // as of a charge that is used again
			answers, taken := s.take(c)
			if want := (limiter.Decision{RetryAfter: limiter.Never}); answers[0].Decision != want ||
				taken != (mode != limiter.Enforce) {
				s.Errorf("%s of %d units of a limit of 0: taken %t,\n got %v\nwant %+v", modeName(mode), n, taken,
					describe(&answers[0]), want)
			}
		}
	}
	s.wantLeft(5, key)
	s.pass(cost(5, key))

	// The zero Limit is a limit that was forgotten, and none of 0.
	if checker, ok := s.Store.(limiter.Checker); ok {
		if err := checker.Check(zero.Limit); err != nil {
			s.Errorf("Check of a limit of 0: %v, want nil", err)
		}
	}
	if taken, err := s.Store.Take(s.Context(), []limiter.Charge{{Key: "key", Cost: 1}}); taken || err == nil {
		s.Errorf("Take with the zero Limit: %t, %v, want false and an error", taken, err)
	}
}

func testZeroInBatch(s *storeTest) {
	key, other, zero := s.charge("key", 9, 1), s.charge("other", 5, 1), s.charge("zero", 0, 1)
	s.pass(cost(3, key))
	s.refuse(key, zero)
	s.refuse(zero, key)
	s.refuse(key, other, cost(0, zero), as(limiter.Shadow, other))
	s.refuse(as(limiter.Force, key), zero)
	s.refuse(cost(-2, key), zero)
	s.refuse(zero, cost(-2, key))
	s.refuse(as(limiter.Shadow, zero), zero, as(limiter.Peek, zero))
	s.wantLeft(6, key)
	s.wantLeft(5, other)

	shadow, peek := as(limiter.Shadow, zero), as(limiter.Peek, zero)
	s.pass(shadow, key, peek, other)
	s.pass(cost(-1, key), shadow)
	s.wantLeft(6, key)
	s.wantLeft(4, other)
	s.refuse(shadow, cost(7, key), peek, other)
	s.pass(shadow, peek)

	// On one counter: what does not pass is not on top of what does.
	suspended := as(limiter.Shadow, s.charge("key", 0, 1))
	s.pass(cost(3, key), suspended, cost(3, key))
	s.wantLeft(0, key)
}

func testZeroAndBack(s *storeTest) {
	key, zero := s.charge("key", 5, 1), s.charge("key", 0, 1)
	s.pass(cost(3, key))
	for range 3 {
		s.refuse(zero)
	}
	s.wantLeft(2, key)
	s.pass(cost(-1, zero))
	s.wantLeft(3, key)
	s.pass(as(limiter.Force, cost(2, zero)))
	s.pass(as(limiter.Force, cost(0, zero)))
	s.refuse(zero)
	s.wantLeft(1, key)
	s.pass(key)
	s.refuse(key)
	s.refuse(zero)
	s.pass(cost(-2, zero), as(limiter.Force, cost(1, zero)))
	s.wantLeft(1, key)
	s.reset(zero)
	s.wantLeft(5, key)

	// The first that a counter is charged may be forced.
	fresh := s.charge("fresh", 0, 0)
	s.pass(cost(-1, fresh))
	s.pass(as(limiter.Force, cost(2, fresh)))
	s.wantLeft(3, s.charge("fresh", 5, 0))
	s.pass(cost(-9, fresh))
	s.wantLeft(5, s.charge("fresh", 5, 0))
}

func testZeroOverTime(s *storeTest) {
	const window = time.Second
	key := limiter.Charge{Scope: "scope", Key: "key", Limit: s.per(10, window)}
	zero := key
	zero.Limit.Requests = 0
	s.align(window)
	s.pass(cost(8, key))
	look := func() {
		s.Helper()
		s.resetFullBuckets(key, zero)
		s.take(cost(1, zero))
		s.take(as(limiter.Peek, cost(1, key)))
		s.wantAsOracle(key)
	}
	for range 3 {
		s.Advance(window / 4)
		look()
	}
	for range 4 {
		s.pass(as(limiter.Force, cost(3, zero)))
		s.Advance(window / 4)
		look()
		s.pass(cost(-1, zero))
		look()
		s.Advance(window)
		look()
	}
	// A bucket refills one unit a window under a limit of 0, so it needs the longest.
	s.Advance(100 * window)
	look()
	s.wantLeft(10, key)
}
