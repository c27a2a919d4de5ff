package limitertest

import (
	"math"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

func testRefund(s *storeTest) {
	key := s.charge("key", 5, 0)
	charged := s.pass(cost(5, key))[0]
	s.pass(cost(-2, charged))
	s.wantLeft(2, key)
	s.pass(cost(-1, key))
	s.wantLeft(3, key)
	for _, tooMuch := range []int64{-4, -1 << 31, -1 << 53, -math.MaxInt64, math.MinInt64} {
		s.pass(cost(tooMuch, charged))
		s.wantLeft(5, key)
		s.pass(cost(tooMuch, key))
		s.wantLeft(5, key)
		s.refuse(cost(6, key))
		s.pass(cost(5, key))
		s.refuse(cost(1, key))
	}
}

func testRefundUnknown(s *storeTest) {
	key := s.charge("key", 5, 0)
	s.pass(cost(-3, key))
	unknown := s.pass(as(limiter.Peek, cost(1, key)))[0]
	s.pass(as(limiter.Enforce, cost(-3, unknown)))
	s.pass(cost(-3, s.charge("another", 5, 0)), cost(2, key))
	s.wantLeft(3, key)
	s.pass(cost(3, key))
	s.refuse(cost(1, key))
}

func testRefundInBatch(s *storeTest) {
	key, full := s.charge("key", 5, 0), s.charge("full", 1, 1)
	s.pass(cost(4, key), full)
	s.refuse(cost(-3, key), full)
	s.wantLeft(1, key)
	s.refuse(full, cost(-3, key))
	s.wantLeft(1, key)
	s.pass(cost(-3, key), cost(4, key))
	s.wantLeft(0, key)
	s.pass(cost(-1, full), full, cost(-2, key))
	s.wantLeft(2, key)
	s.pass(cost(1, key), cost(-3, key), cost(4, key))
	s.wantLeft(0, key)
	s.pass(as(limiter.Shadow, cost(-2, key)), as(limiter.Force, cost(-1, key)))
	s.wantLeft(3, key)
}

func testRefundByState(s *storeTest) {
	const window = time.Minute
	key := limiter.Charge{Scope: "scope", Key: "key", Limit: s.per(100, window)}
	for _, later := range []time.Duration{0, window / 60, window / 10, window / 2, window, window + window/15, 2 * window,
		3 * window} {
		s.reset(key)
		s.align(window)
		s.Advance(window / 4)
		late := s.pass(cost(40, key))[0]
		s.Advance(later)
		s.take(cost(30, key))
		s.pass(cost(-20, late))
		s.wantAsOracle(key)
		s.pass(cost(-25, late)) // more than is left of it
		s.wantAsOracle(key)
		s.Advance(window / 2)
		s.wantAsOracle(key)
		s.Advance(window)
		s.wantAsOracle(key)
	}
}

// A refund must not make what is left last longer than without it.
func testRefundBeforeAllEnds(s *storeTest) {
	const window = 60 * time.Millisecond // so short that a store may still hold what has ended
	key := limiter.Charge{Scope: "scope", Key: "key", Limit: s.per(100, window)}
	s.align(window)
	spent := s.pass(cost(40, key))[0]
	s.Advance(window / 2)
	s.pass(cost(-10, spent))
	s.Advance(window / 6)
	s.take(cost(80, key))
	for range 4 {
		s.Advance(window / 3)
		s.wantAsOracle(key)
		s.refuse(cost(101, key))
	}
}

func testRefundWithoutState(s *storeTest) {
	const window = time.Minute
	key := limiter.Charge{Scope: "scope", Key: "key", Limit: s.per(100, window)}
	for _, windows := range []time.Duration{1, 2} {
		s.reset(key)
		s.align(window)
		s.pass(cost(40, key))
		s.Advance(windows * window)
		s.pass(cost(20, key))
		for range 3 {
			s.pass(cost(-15, key))
			s.wantAsOracle(key)
		}
		s.pass(cost(-100, key))
		s.wantLeft(100, key)
	}
}

// wantAsOracle compares all that can be seen of a counter with the oracle.
func (s *storeTest) wantAsOracle(key limiter.Charge) {
	s.Helper()
	s.pass(as(limiter.Peek, cost(0, key)), as(limiter.Peek, cost(key.Limit.Requests, key)))
}

func testReset(s *storeTest) {
	key := s.charge("a", 5, 5)
	otherScope, otherWindow := key, key
	otherScope.Scope = "scope:a"
	otherWindow.Limit.Window -= time.Hour
	others := []limiter.Charge{
		otherScope, otherWindow,
		s.charge("a:b", 5, 5), s.charge("ab", 5, 5), s.charge("", 5, 5), s.charge("*", 5, 5), s.charge("a*", 5, 5),
		s.charge("?", 5, 5),
	}
	s.pass(key)
	s.pass(others...)
	s.reset(as(limiter.Peek, cost(-3, key)))
	s.wantLeft(5, key)
	s.pass(cost(4, key))
	s.reset(s.charge("*", 5, 5), s.charge("?", 5, 5))
	s.wantLeft(1, key)
	for _, c := range others[:6] {
		if c.Key != "*" {
			s.wantLeft(0, c)
		}
	}
	s.reset(append(others, key, key)...)
	for _, c := range append(others, key) {
		s.wantLeft(5, c)
	}
	s.reset(s.charge("unknown", 5, 5))
	s.wantLeft(5, s.charge("unknown", 5, 5))
}

func testResetAcrossWindows(s *storeTest) {
	const window = time.Minute
	key := limiter.Charge{Scope: "scope", Key: "key", Limit: s.per(10, window), Cost: 10}
	s.align(window)
	s.pass(key)
	s.Advance(window)
	s.reset(key)
	s.wantLeft(10, key)
	s.pass(key)
	s.Advance(window / 2)
	s.reset(key)
	s.pass(key)
}
