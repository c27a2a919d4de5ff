package limitertest

import (
	"context"
	"slices"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// still is a window so long that nothing turns or is refilled while a case runs on a real clock, but for one moment
// in three hundred days.
const still = 300 * 24 * time.Hour

// reporter is what a case needs of *testing.T. The suite's own tests put a recorder in its place, to see that a
// broken store fails.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Context() context.Context
}

// subject is one store under one case and one algorithm. Whatever it is asked through take is also put to an
// oracle, at the moment that the store itself tells, so that the comparison is exact on a clock that moves, too.
type subject struct {
	reporter
	Harness
	algorithm limiter.Algorithm
	oracle    oracle
	at        int64              // the latest moment that the store has told
	moved     time.Duration      // by how much its clock was moved
	told      map[refusal][]told // the refusals that it has given
	repeated  bool               // the last answer may be one of them
}

func newSubject(r reporter, h Harness, algorithm limiter.Algorithm) *subject {
	s := &subject{reporter: r, Harness: h, algorithm: algorithm, oracle: oracle{}, told: map[refusal][]told{}}
	if h.Advance != nil {
		s.Advance = func(d time.Duration) {
			h.Advance(d)
			s.moved += d
		}
	}
	return s
}

// per is a limit of n units per window, of the algorithm under test.
func (s *subject) per(n int64, window time.Duration) limiter.Limit {
	return limiter.Limit{Requests: n, Window: window, Algorithm: s.algorithm}
}

// charge asks for cost units of key, of n that do not come back while the case runs.
func (s *subject) charge(key string, n, cost int64) limiter.Charge {
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

// take puts a batch to the store and to the oracle, and compares the answers.
func (s *subject) take(charges ...limiter.Charge) (answers []limiter.Charge, taken bool) {
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

// moments are when the charges were decided: State.At, or the latest one known where a charge was not judged.
func (s *subject) moments(charges []limiter.Charge) []int64 {
	at := make([]int64, len(charges))
	for i, c := range charges {
		s.at = max(s.at, c.At)
		if at[i] = c.At; at[i] == 0 {
			at[i] = s.at
		}
	}
	return at
}

// pass is take of a batch that must be spent.
func (s *subject) pass(charges ...limiter.Charge) []limiter.Charge {
	s.Helper()
	answers, taken := s.take(charges...)
	if !taken {
		s.Fatalf("batch refused, want it taken:\n%v", batch(answers))
	}
	return answers
}

// refuse is take of a batch that must be refused.
func (s *subject) refuse(charges ...limiter.Charge) []limiter.Charge {
	s.Helper()
	answers, taken := s.take(charges...)
	if taken {
		s.Fatalf("batch taken, want it refused:\n%v", batch(answers))
	}
	return answers
}

// wantLeft looks at the counter of c and compares what it could spend.
func (s *subject) wantLeft(want int64, c limiter.Charge) {
	s.Helper()
	c.Cost, c.Mode, c.State = 0, limiter.Peek, limiter.State{}
	if got := s.pass(c)[0]; got.Remaining != want {
		s.Fatalf("%v\nleaves %d units, want %d", describe(&got), got.Remaining, want)
	}
}

// reset forgets the counters of the charges in the store and in the oracle.
func (s *subject) reset(charges ...limiter.Charge) {
	s.Helper()
	if err := s.Store.Reset(s.Context(), slices.Clone(charges)); err != nil {
		s.Fatalf("Reset of\n%v\nfails: %v", batch(charges), err)
	}
	for i := range charges {
		delete(s.oracle, counterOf(&charges[i]))
	}
}

// settle resets a bucket that is full at the rate of its last charge, or of this one. A store may have forgotten it,
// though at a lower rate it would still be in debt.
func (s *subject) settle(charges ...limiter.Charge) {
	s.Helper()
	for _, c := range charges {
		t := s.oracle[counterOf(&c)]
		if t == nil || c.Limit.Algorithm != limiter.TokenBucket {
			continue
		}
		if now := s.now(); t.debtAt(t.last, now).Sign() == 0 || t.debtAt(c.Limit, now).Sign() == 0 {
			s.reset(c)
		}
	}
}

// runs tells whether the store takes a limit of an algorithm that it runs.
func (s *subject) runs(l limiter.Limit) bool {
	checker, ok := s.Store.(limiter.Checker)
	return !ok || checker.Check(l) == nil
}

// now is the moment on the store's clock.
func (s *subject) now() int64 {
	s.Helper()
	probe := []limiter.Charge{as(limiter.Peek, s.charge("a look at the clock", 1, 0))}
	if _, err := s.Store.Take(s.Context(), probe); err != nil {
		s.Fatalf("Take of a Look of cost 0 fails: %v", err)
	}
	return probe[0].At
}

// align moves the clock to the start of a window.
func (s *subject) align(window time.Duration) {
	s.Helper()
	w := window.Milliseconds()
	if past := s.now() % w; past != 0 {
		s.Advance(time.Duration(w-past) * time.Millisecond)
	}
}
