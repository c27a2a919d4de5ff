package limitertest

import (
	"context"
	"slices"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// still is a window so long that while a case runs on a real clock it reaches no boundary and nothing is refilled, but
// for one moment in three hundred days.
const still = 300 * 24 * time.Hour

// reporter is what a case needs of *testing.T. The suite's own tests pass a recorder instead, to see that a broken
// store fails.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Context() context.Context
}

// storeTest is one store under one case and one algorithm. Each batch that the method take passes to the store is also
// passed to an oracle, for the moment in the store's own answer, so the comparison is exact even if the clock moves.
type storeTest struct {
	reporter
	Harness
	algorithm limiter.Algorithm
	oracle    oracle
	at        int64                   // the latest State.At of the store
	moved     time.Duration           // by how much its clock was moved
	refusals  map[refusalID][]refusal // those that the store has given
	repeated  bool                    // the last answer may be one of them
}

func newStoreTest(r reporter, h Harness, algorithm limiter.Algorithm) *storeTest {
	s := &storeTest{reporter: r, Harness: h, algorithm: algorithm, oracle: oracle{}, refusals: map[refusalID][]refusal{}}
	if h.Advance != nil {
		s.Advance = func(d time.Duration) {
			h.Advance(d)
			s.moved += d
		}
	}
	return s
}

// per returns a limit of n units per window, of the algorithm under test.
func (s *storeTest) per(n int64, window time.Duration) limiter.Limit {
	return limiter.Limit{Requests: n, Window: window, Algorithm: s.algorithm}
}

// charge returns a charge of cost units of key, with a limit of n units that do not come back while the case runs.
func (s *storeTest) charge(key string, n, cost int64) limiter.Charge {
	return limiter.Charge{Scope: "scope", Key: key, Limit: s.per(n, still), Cost: cost}
}

func as(mode limiter.Mode, c limiter.Charge) limiter.Charge {
	c.Mode = mode
	return c
}

func cost(n int64, c limiter.Charge) limiter.Charge {
	c.Cost = n
	return c
}

// take passes a batch to the store and to the oracle, and compares the answers.
func (s *storeTest) take(charges ...limiter.Charge) (answers []limiter.Charge, taken bool) {
	s.Helper()
	got := slices.Clone(charges)
	taken, err := s.Store.Take(s.Context(), got)
	if err != nil {
		s.Fatalf("Take of\n%v\nfails: %v", batch(charges), err)
	}
	want := slices.Clone(charges)
	wantTaken := s.oracle.take(want, s.moments(got))
	s.compare(charges, answer{got, taken}, answer{want, wantTaken})
	return got, taken
}

// moments returns when each charge was decided: its State.At or, if it was not judged, the latest moment known.
func (s *storeTest) moments(charges []limiter.Charge) []int64 {
	at := make([]int64, len(charges))
	for i, c := range charges {
		s.at = max(s.at, c.At)
		if at[i] = c.At; at[i] == 0 {
			at[i] = s.at
		}
	}
	return at
}

// pass takes a batch that must be spent.
func (s *storeTest) pass(charges ...limiter.Charge) []limiter.Charge {
	s.Helper()
	answers, taken := s.take(charges...)
	if !taken {
		s.Fatalf("batch refused, want it taken:\n%v", batch(answers))
	}
	return answers
}

// refuse takes a batch that must be refused.
func (s *storeTest) refuse(charges ...limiter.Charge) []limiter.Charge {
	s.Helper()
	answers, taken := s.take(charges...)
	if taken {
		s.Fatalf("batch taken, want it refused:\n%v", batch(answers))
	}
	return answers
}

// wantLeft fails the case unless so many units remain to the counter of c.
func (s *storeTest) wantLeft(want int64, c limiter.Charge) {
	s.Helper()
	c.Cost, c.Mode, c.State = 0, limiter.Peek, limiter.State{}
	if got := s.pass(c)[0]; got.Remaining != want {
		s.Fatalf("%v\nleaves %d units, want %d", describe(&got), got.Remaining, want)
	}
}

// reset clears the counters of the charges in the store and in the oracle.
func (s *storeTest) reset(charges ...limiter.Charge) {
	s.Helper()
	if err := s.Store.Reset(s.Context(), slices.Clone(charges)); err != nil {
		s.Fatalf("Reset of\n%v\nfails: %v", batch(charges), err)
	}
	for i := range charges {
		delete(s.oracle, counterOf(&charges[i]))
	}
}

// resetFullBuckets resets the buckets among the charges' counters that are full at the rate of their last charge, or of
// this one: a store may have forgotten them, though at a lower rate they would still be in debt.
func (s *storeTest) resetFullBuckets(charges ...limiter.Charge) {
	s.Helper()
	for _, c := range charges {
		h := s.oracle[counterOf(&c)]
		if h == nil || c.Limit.Algorithm != limiter.TokenBucket {
			continue
		}
		if now := s.now(); h.debtAt(h.last, now).Sign() == 0 || h.debtAt(c.Limit, now).Sign() == 0 {
			s.reset(c)
		}
	}
}

// runs reports whether the store takes a limit of an algorithm that it runs.
func (s *storeTest) runs(l limiter.Limit) bool {
	checker, ok := s.Store.(limiter.Checker)
	return !ok || checker.Check(l) == nil
}

// now returns the moment on the store's clock.
func (s *storeTest) now() int64 {
	s.Helper()
	probe := []limiter.Charge{as(limiter.Peek, s.charge("clock", 1, 0))}
	if _, err := s.Store.Take(s.Context(), probe); err != nil {
		s.Fatalf("Peek of cost 0 fails: %v", err)
	}
	return probe[0].At
}

// align moves the clock to the next window boundary.
func (s *storeTest) align(window time.Duration) {
	s.Helper()
	w := window.Milliseconds()
	if past := s.now() % w; past != 0 {
		s.Advance(time.Duration(w-past) * time.Millisecond)
	}
}
