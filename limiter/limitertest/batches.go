package limitertest

import (
	"fmt"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

func testRefusal(s *storeTest) {
	key := s.charge("key", 5, 0)
	s.pass(cost(3, key))
	for range 10 {
		s.refuse(cost(3, key))
	}
	for n := int64(4); n < 10; n++ {
		s.refuse(cost(n, key))
	}
	s.wantLeft(2, key)
	s.pass(cost(2, key))
	s.refuse(cost(1, key))
}

func testNoCharges(s *storeTest) {
	for _, charges := range [][]limiter.Charge{nil, {}} {
		if taken, err := s.Store.Take(s.Context(), charges); !taken || err != nil {
			s.Errorf("Take of no charges: %t, %v, want true, nil", taken, err)
		}
		if err := s.Store.Reset(s.Context(), charges); err != nil {
			s.Errorf("Reset of no charges: %v, want nil", err)
		}
	}
}

func testTwoLimits(s *storeTest) {
	long, short := s.charge("key", 10, 1), s.charge("key", 3, 1)
	short.Limit.Window -= 24 * time.Hour
	for range 3 {
		s.pass(long, short)
	}
	s.refuse(long, short)
	s.refuse(short, long)
	s.wantLeft(7, long)
	s.wantLeft(0, short)
	s.pass(cost(7, long))
}

func testTwoKeys(s *storeTest) {
	account, address := s.charge("account", 5, 1), s.charge("address", 2, 1)
	s.pass(account, address)
	s.pass(address, account)
	for range 5 {
		s.refuse(account, address)
		s.refuse(address, account)
	}
	s.wantLeft(3, account)
	s.wantLeft(0, address)
	s.wantLeft(5, s.charge("another account", 5, 1))
}

func testOneCounterTwice(s *storeTest) {
	key := s.charge("key", 5, 0)
	answers := s.pass(cost(2, key), cost(2, key))
	if first, second := answers[0].Remaining, answers[1].Remaining; first != 3 || second != 1 {
		s.Errorf("2 and 2 of 5 leave %d and %d units, want 3 and 1", first, second)
	}
	s.refuse(cost(1, key), cost(1, key))
	s.wantLeft(1, key)
	s.pass(cost(1, key), cost(0, key))
	s.wantLeft(0, key)

	other := s.charge("other", 5, 0)
	s.pass(cost(1, other), cost(1, s.charge("between", 5, 0)), cost(4, other))
	s.wantLeft(0, other)
}

func testOrder(s *storeTest) {
	key, other := s.charge("key", 5, 0), s.charge("other", 5, 0)
	answers := s.refuse(cost(3, key), cost(3, key), cost(2, key), cost(1, key), cost(4, other))
	for i, want := range []bool{true, false, true, false, true} {
		if got := answers[i].Allowed; got != want {
			s.Errorf("charge %d of a refused batch: allowed %t, want %t", i, got, want)
		}
	}
	s.wantLeft(5, key)
	s.wantLeft(5, other)
	s.pass(cost(1, key), cost(4, key))
}

func testRefusedInBatch(s *storeTest) {
	key := s.charge("key", 10, 0)
	if answers := s.refuse(cost(6, key), cost(6, key)); answers[1].RetryAfter != limiter.Never {
		s.Errorf("12 of 10 units in one batch: retry after %v, want never", answers[1].RetryAfter)
	}
	s.pass(cost(6, key))

	// A neighbour's refusal is not the charge's own.
	a, b := s.charge("a", 5, 0), s.charge("b", 5, 0)
	s.pass(cost(5, a))
	s.refuse(cost(1, a), cost(2, b))
	s.pass(cost(2, b))
}

func testLargeBatch(s *storeTest) {
	const size = 150
	var charges []limiter.Charge
	for i := range size {
		charges = append(charges, s.charge(fmt.Sprintf("key %d", i), 2, 1))
	}
	s.pass(charges...)
	s.pass(charges[size-1])
	s.refuse(charges...)
	s.wantLeft(1, charges[0])
	s.wantLeft(1, charges[size-2])
	s.pass(charges[:size-1]...)

	one := s.charge("one key", size, 1)
	for i := range charges {
		charges[i] = one
	}
	s.refuse(append(charges, one)...)
	s.pass(charges...)
	s.wantLeft(0, one)
}

func testCostZero(s *storeTest) {
	key := s.charge("key", 5, 0)
	for range 3 {
		s.pass(key)
	}
	s.wantLeft(5, key)
	s.pass(cost(5, key))
	// At its limit nothing more fits, but nothing does fit nothing.
	s.pass(key)
	s.pass(as(limiter.Force, cost(1, key)))
	// Over its limit it is refused until it has paid.
	if answers := s.refuse(key); answers[0].RetryAfter <= 0 || answers[0].RetryAfter == limiter.Never {
		s.Errorf("cost 0 of a key over its limit: retry after %v, want a time", answers[0].RetryAfter)
	}
}
