package limitertest

import (
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// wide is the count at which a counter no longer fits 24 bits.
const wide = 1 << 24

// most is the largest limit of the algorithm under test over a window: a log's is small, and a bucket's product
// with its window is bounded.
func (s *storeTest) most(window time.Duration) int64 {
	switch s.algorithm {
	case limiter.SlidingLog:
		return 100_000
	case limiter.TokenBucket:
		return min(1_000_000_000, 1<<52/window.Milliseconds())
	}
	return 1_000_000_000
}

// wideWindow is still, or for a bucket an hour: its debt in tokens times milliseconds stays below 2^53.
func (s *storeTest) wideWindow() time.Duration {
	if s.algorithm == limiter.TokenBucket {
		return time.Hour
	}
	return still
}

func testLimitsChange(s *storeTest) {
	key := s.charge("key", 60, 30)
	s.pass(key)
	key.Limit.Requests = 600
	s.wantLeft(570, key)
	key.Limit.Requests = 10
	s.wantLeft(0, key)
	s.refuse(cost(1, key))
	s.refuse(cost(0, key))
	key.Limit.Requests = 31
	s.pass(cost(1, key))
	s.refuse(cost(1, key))

	// Across 24 bits and back, by costs and by refunds.
	s.reset(key)
	key.Limit = s.per(s.most(s.wideWindow()), s.wideWindow())
	step := min(key.Limit.Requests, wide-1)
	s.pass(cost(step, key))
	s.pass(as(limiter.Force, cost(1, key)))
	s.pass(as(limiter.Force, cost(wide, key)))
	low := key
	low.Limit.Requests = 100
	s.refuse(cost(1, low))
	s.take(cost(wide+1, key))
	s.pass(cost(-wide, key))
	s.wantAsOracle(key)
	s.wantAsOracle(low)
	s.pass(cost(-4*wide, key))
	s.pass(cost(100, low))
	s.refuse(cost(1, low))
}

func testLimitsChangeOverTime(s *storeTest) {
	const window = time.Hour
	high := limiter.Charge{Scope: "scope", Key: "key", Limit: s.per(s.most(window), window)}
	low := high
	low.Limit.Requests = 1000
	s.align(window)
	for _, n := range []int64{1, wide - 1, wide, wide + 1, 1_000_000_000} {
		s.reset(high)
		s.pass(as(limiter.Force, cost(n, high)))
		s.take(cost(1, low))
		for range 7 {
			s.Advance(window / 4)
			s.resetFullBuckets(high)
			s.take(cost(1, low))
			s.take(cost(1000, high))
			s.resetFullBuckets(high)
			s.wantAsOracle(low)
			s.wantAsOracle(high)
		}
	}
}
