package limitertest

import (
	"slices"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// Harness is a store under test, and what the suite has to know of it.
type Harness struct {
	// Store is the store under test, without any counters. If it has a time-out, choose one that is long enough for
	// 64 callers under the race detector: an error fails the case.
	Store limiter.Store

	// Advance moves the clock by which Store decides, and with it the clock by which counters expire and that of a
	// cache of refusals; switch a cache off that is on another clock. Between calls of Advance the clock stands still.
	// Advance is called by one goroutine at a time, and not during a call of Store.
	//
	// A negative duration sets the clock back. If the clock of Store is monotonic, Advance ignores negative
	// durations.
	//
	// nil is for stores whose clock a test cannot move, such as that of a real server. The cases that need to move
	// time are skipped, and the others allow for a clock that moves while they run.
	Advance func(time.Duration)

	// Algorithms are those that Store runs; nil means all. For the others it must return [limiter.ErrUnsupported].
	Algorithms []limiter.Algorithm
}

// Run tests a store. It calls new for every case and algorithm, in the goroutine of the test that it passes to new,
// which may register its cleanup there, and may call t.Fatal if it cannot make a store.
//
// Each case is a subtest, with one subtest for each algorithm:
//
//	go test -run 'TestStore/refund.*/sliding-log'
//
// A case that fails logs why it exists.
func Run(t *testing.T, new func(t *testing.T) Harness) {
	h := new(t)
	for _, c := range suite() {
		t.Run(c.name, func(t *testing.T) {
			if c.moves && h.Advance == nil {
				t.Skip("this case moves the clock, and the harness has no Advance")
			}
			for _, algorithm := range h.algorithms() {
				t.Run(algorithm.String(), func(t *testing.T) {
					t.Cleanup(func() {
						if t.Failed() {
							t.Logf("Why this case exists: %s", c.why)
						}
					})
					c.run(newStoreTest(t, new(t), algorithm))
				})
			}
		})
	}
}

func (h Harness) algorithms() []limiter.Algorithm {
	if h.Algorithms == nil {
		return everyAlgorithm()
	}
	return h.Algorithms
}

func (h Harness) supports(a limiter.Algorithm) bool { return slices.Contains(h.algorithms(), a) }

func everyAlgorithm() []limiter.Algorithm {
	return []limiter.Algorithm{limiter.SlidingWindow, limiter.SlidingLog, limiter.FixedWindow, limiter.TokenBucket,
		limiter.StrictWindow}
}
