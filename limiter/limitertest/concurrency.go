package limitertest

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// callers is the number of concurrent callers.
const callers = 64

// together runs call in as many goroutines as there are callers, all at once, and waits for them.
func together(call func(caller int)) {
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	for i := range callers {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-start
			call(i)
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
}

// rush takes batches in many goroutines, so many times in each, and returns how many were taken.
func (s *storeTest) rush(times int, charges func(caller int) []limiter.Charge) int64 {
	s.Helper()
	var taken atomic.Int64
	together(func(caller int) {
		for range times {
			ok, err := s.Store.Take(s.Context(), charges(caller))
			if err != nil {
				s.Errorf("Take by one of %d callers: %v", callers, err)
				return
			}
			if ok {
				taken.Add(1)
			}
		}
	})
	return taken.Load()
}

// wantHeld fails the case unless the counter holds so many units. The oracle is not asked.
func (s *storeTest) wantHeld(want int64, c limiter.Charge) {
	s.Helper()
	if got := s.ask(as(limiter.Peek, cost(0, c))); got.Current != want || got.Remaining != max(0, c.Limit.Requests-want) {
		s.Errorf("%d units in use, %d left, want %d and %d", got.Current, got.Remaining, want, max(0, c.Limit.Requests-want))
	}
}

func testManyCallers(s *storeTest) {
	for name, limit := range map[string]int64{"one": 1, "few": 5, "some": 63, "many": 300} {
		key := s.charge(name, limit, 1)
		got := s.rush(8, func(int) []limiter.Charge { return []limiter.Charge{key} })
		if got != limit {
			s.Errorf("%d callers with %d tries were admitted %d times, want %d", callers, callers*8, got, limit)
		}
		s.wantHeld(limit, key)
	}
}

func testManyCallersOfTwoKeys(s *storeTest) {
	few, many := s.charge("few", 40, 1), s.charge("many", 60, 1)
	taken := s.rush(4, func(caller int) []limiter.Charge {
		if caller%2 == 0 {
			return []limiter.Charge{few, many}
		}
		return []limiter.Charge{many, few}
	})
	if taken > 40 {
		s.Errorf("%d batches taken, want at most 40", taken)
	}
	s.wantHeld(taken, few)
	s.wantHeld(taken, many)
	// Concurrent batches may have refused each other. Now, without concurrency, the rest gets in.
	for range 40 - taken {
		if ok, err := s.Store.Take(s.Context(), []limiter.Charge{few, many}); !ok || err != nil {
			s.Fatalf("batch below both limits: %t, %v, want true, nil", ok, err)
		}
	}
	s.wantHeld(40, few)
	s.wantHeld(40, many)
}

func testManyCallersAtABoundary(s *storeTest) {
	const window = time.Minute
	key := limiter.Charge{Scope: "scope", Key: "key", Limit: s.per(40, window), Cost: 1}
	for _, windows := range []time.Duration{2, 3, 33, 2, 2} {
		s.align(window)
		s.Advance(windows * window)
		if got := s.rush(2, func(int) []limiter.Charge { return []limiter.Charge{key} }); got != 40 {
			s.Errorf("%d windows later, %d callers with %d tries were admitted %d times, want 40", windows, callers, callers*2,
				got)
		}
		s.wantHeld(40, key)
	}
}

func testManyCallersRefunding(s *storeTest) {
	key := s.charge("key", 1000, 2)
	together(func(int) {
		for range 4 {
			charges := []limiter.Charge{key}
			if _, err := s.Store.Take(s.Context(), charges); err != nil {
				s.Errorf("Take by one of %d callers: %v", callers, err)
				return
			}
			charges[0].Cost = -1
			if _, err := s.Store.Take(s.Context(), charges); err != nil {
				s.Errorf("refund by one of %d callers: %v", callers, err)
				return
			}
		}
	})
	s.wantHeld(callers*4, key)
}
