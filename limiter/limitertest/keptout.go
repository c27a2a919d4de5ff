package limitertest

import (
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// keepOut returns the charge that asks whether its key is kept out, and the batch that keeps the key out for the window
// of the limit: with two units in a bucket that has room for one. The batch is refused while that lasts, and gives back
// what is left of the last time.
func keepOut(key limiter.Charge) (asks limiter.Charge, begins []limiter.Charge) {
	key.Limit.Requests = 1
	asks = cost(0, key)
	return asks, []limiter.Charge{asks, cost(-limiter.MaxCount, key), as(limiter.Force, cost(2, key))}
}

func testKeptOut(s *storeTest) {
	if s.algorithm != limiter.TokenBucket {
		return // their units come back together, or in another measure than time
	}
	for _, window := range []time.Duration{time.Millisecond, 997 * time.Millisecond, time.Hour, 366 * 24 * time.Hour} {
		key := limiter.Charge{Scope: "out\x00side", Key: window.String(), Limit: s.per(1, window)}
		asks, begins := keepOut(key)
		s.pass(asks)
		for range 3 {
			s.pass(begins...)
			if window > time.Millisecond {
				s.Advance(window - time.Millisecond)
			}
			s.refuse(begins...)
			if got := s.refuse(asks)[0].RetryAfter; got != time.Millisecond {
				s.Errorf("a key kept out for %v, a millisecond before: retry after %v, want 1ms", window, got)
			}
			s.Advance(time.Millisecond)
			s.pass(asks)
		}
	}
}

func testKeptOutAtOnce(s *storeTest) {
	if s.algorithm != limiter.TokenBucket {
		return
	}
	asks, begins := keepOut(s.charge("key", 1, 0))
	if n := s.rush(1, func(int) []limiter.Charge { return append([]limiter.Charge(nil), begins...) }); n != 1 {
		s.Errorf("%d callers of %d begin to keep a key out, want 1", n, callers)
	}
	got := s.ask(as(limiter.Peek, asks))
	if got.Allowed || got.RetryAfter > asks.Limit.Window {
		s.Errorf("a key that is kept out: allowed %t, retry after %v, want false and %v at most", got.Allowed,
			got.RetryAfter, asks.Limit.Window)
	}
}
