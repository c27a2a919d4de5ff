package limitertest

import (
	"fmt"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

func testClock(s *storeTest) {
	for _, step := range []time.Duration{0, time.Millisecond, 999 * time.Millisecond, time.Minute, 36 * time.Hour,
		400 * 24 * time.Hour} {
		before := s.now()
		s.Advance(step)
		if got, want := s.now()-before, step.Milliseconds(); got != want {
			s.Errorf("Advance(%v) moves State.At by %d ms, want %d", step, got, want)
		}
	}
}

// exactly waits for the RetryAfter of a refused batch, and expects it to pass then and not before.
func (s *storeTest) exactly(charges ...limiter.Charge) {
	s.Helper()
	var wait time.Duration
	for _, c := range s.refuse(charges...) {
		wait = max(wait, c.RetryAfter)
	}
	if wait <= 0 || wait == limiter.Never {
		s.Fatalf("retry after %v, want a time:\n%v", wait, batch(charges))
	}
	if wait > time.Millisecond {
		s.Advance(wait - time.Millisecond)
		s.refuse(charges...)
	}
	s.Advance(min(wait, time.Millisecond))
	s.pass(charges...)
}

func testRetryAfter(s *storeTest) {
	for _, limit := range []limiter.Limit{s.per(10, 10*time.Second), s.per(10, 7*time.Millisecond),
		s.per(3, 24*time.Hour), s.per(1, time.Second)} {
		for _, position := range []time.Duration{0, limit.Window / 3, limit.Window - time.Millisecond} {
			for n := int64(1); n <= limit.Requests; n += 3 {
				key := limiter.Charge{Scope: "scope", Key: fmt.Sprint(position, n), Limit: limit, Cost: n}
				s.align(limit.Window)
				s.Advance(position.Truncate(time.Millisecond))
				s.take(cost(limit.Requests/2, key))
				s.Advance((limit.Window / 5).Truncate(time.Millisecond))
				s.pass(as(limiter.Force, cost(limit.Requests, key)))
				s.exactly(key)

				// Where the older of its units make enough space, a charge does not wait for the newer ones.
				key.Key += " in two steps"
				s.align(limit.Window)
				s.Advance(position.Truncate(time.Millisecond))
				s.take(cost(limit.Requests/2, key))
				s.Advance((limit.Window / 5).Truncate(time.Millisecond))
				s.pass(cost(s.pass(as(limiter.Peek, key))[0].Remaining, key))
				s.exactly(key)
			}
		}
	}

	// Together with what the batch takes before it from the same counter, and for the slower of two counters.
	key := limiter.Charge{Scope: "scope", Key: "key", Limit: s.per(10, time.Minute)}
	slow := limiter.Charge{Scope: "scope", Key: "key", Limit: s.per(10, time.Hour), Cost: 1}
	s.pass(cost(8, key), cost(9, slow))
	s.exactly(cost(2, key), slow, cost(4, key))
	s.exactly(cost(2, key), slow)
}

func testResetAfter(s *storeTest) {
	for _, limit := range []limiter.Limit{s.per(10, 10*time.Second), s.per(3, 24*time.Hour), s.per(1, time.Millisecond),
		s.per(1000, time.Second)} {
		for _, position := range []time.Duration{0, limit.Window / 3, limit.Window - time.Millisecond} {
			key := limiter.Charge{Scope: "scope", Key: fmt.Sprint(limit, position), Limit: limit}
			s.align(limit.Window)
			s.Advance(position.Truncate(time.Millisecond))
			s.pass(cost(1, key))
			s.Advance((limit.Window / 4).Truncate(time.Millisecond))
			s.take(cost(limit.Requests-1, key))
			s.wantWholeAtReset(key)
		}
	}
}

// wantWholeAtReset waits for ResetAfter, and expects the whole quota then and not before.
func (s *storeTest) wantWholeAtReset(key limiter.Charge) {
	s.Helper()
	whole := as(limiter.Peek, cost(key.Limit.Requests, key))
	wait := s.pass(whole)[0].ResetAfter
	if wait == 0 {
		return // over already; the oracle agrees
	}
	s.Advance(wait - time.Millisecond)
	if got := s.pass(whole)[0]; got.Allowed {
		s.Errorf("one millisecond before ResetAfter of %v the whole quota is free:\n%v", wait, describe(&got))
	}
	s.Advance(time.Millisecond)
	s.wantLeft(key.Limit.Requests, key)
}

func testIdle(s *storeTest) {
	const window = time.Minute
	for _, windows := range []time.Duration{2, 3, 15, 16, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1024, 65_536} {
		key := limiter.Charge{Scope: "scope", Key: fmt.Sprint(int64(windows)), Limit: s.per(10, window)}
		s.align(window)
		s.Advance(time.Second)
		s.pass(cost(10, key))
		s.refuse(cost(1, key))
		s.Advance(windows * window)
		s.wantLeft(10, key)
		s.pass(cost(10, key))
		s.refuse(cost(1, key))
	}
}

func testExtremes(s *storeTest) {
	const year = 366 * 24 * time.Hour
	limits := []limiter.Limit{
		s.per(s.most(year), year), s.per(1, year), s.per(s.most(time.Millisecond), time.Millisecond),
		s.per(1, time.Millisecond),
		s.per(s.most(time.Hour), time.Hour), s.per(99_991, 86_399_999*time.Millisecond),
	}
	if s.algorithm == limiter.TokenBucket {
		slow, steep := s.per(1, year), s.per(s.most(time.Second), time.Second)
		slow.Burst, steep.Burst = s.most(year), 1
		limits = append(limits, slow, steep)
	}
	for _, limit := range limits {
		if !s.runs(limit) {
			continue
		}
		key := limiter.Charge{Scope: "scope", Key: "key", Limit: limit}
		whole := capacity(limit)
		s.align(limit.Window)
		for _, n := range []int64{whole - whole/7, whole / 7, 1, whole, whole / 3, 1, whole} {
			s.take(cost(n, key))
			s.wantAsOracle(key)
			s.Advance((limit.Window * 2 / 7).Truncate(time.Millisecond))
			s.wantAsOracle(key)
		}
		s.reset(key)
	}
}
