package limitertest

import (
	"math/rand/v2"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// testAnyStretch takes what it can at moments that an adversary would choose, and measures what it got over every
// stretch of one window.
func testAnyStretch(s *storeTest) {
	for _, window := range []time.Duration{time.Second, 1009 * time.Millisecond, 13 * time.Millisecond,
		3 * time.Millisecond, time.Millisecond} {
		random := rand.New(rand.NewPCG(uint64(window), uint64(s.algorithm)))
		key := limiter.Charge{Scope: "scope", Key: window.String(), Limit: s.per(10, window), Cost: 1}
		var taken []expense
		for range 400 {
			s.Advance(adversarialPause(random, s.now(), key.Limit))
			c := cost(pick[int64](random, 1, 1, 2, 5, 10), key)
			if left := s.pass(as(limiter.Peek, key))[0].Remaining; random.IntN(2) == 0 && left > 0 {
				c.Cost = left
			}
			if answers, ok := s.take(c); ok {
				taken = append(taken, expense{answers[0].At, c.Cost})
			}
		}
		if got, most := densest(taken, window.Milliseconds()), s.promised(key.Limit); got > most {
			s.Errorf("%d units within the length of one window of %v, want at most %d", got, key.Limit, most)
		}
	}
}

// promised returns how many units a limit admits at most over any stretch of one window.
func (s *storeTest) promised(l limiter.Limit) int64 {
	if s.algorithm == limiter.SlidingLog || s.algorithm == limiter.StrictWindow {
		return l.Requests
	}
	return 2 * l.Requests
}

// adversarialPause returns a time to wait after now, a moment at which nothing or a boundary of the algorithm is likely
// to be forgotten: none, a few milliseconds, up to a boundary of windows or parts and just beside it, or a window.
func adversarialPause(random *rand.Rand, now int64, l limiter.Limit) time.Duration {
	w, part := l.Window.Milliseconds(), partLength(l)
	ms := pick(
		random,
		0,
		1,
		random.Int64N(1+part),
		w-now%w,
		part-now%part,
		w,
		w-1,
		random.Int64N(2*w),
	) + random.Int64N(
		3,
	) - 1
	return time.Duration(max(0, ms)) * time.Millisecond
}

// densest returns the most units that lie within a stretch of that many milliseconds.
func densest(expenses []expense, stretch int64) (most int64) {
	var units int64
	oldest := 0
	for _, e := range expenses {
		units += e.units
		for ; expenses[oldest].at <= e.at-stretch; oldest++ {
			units -= expenses[oldest].units
		}
		most = max(most, units)
	}
	return most
}
