package limitertest

import (
	"slices"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// Harness is a store under test, and what the suite has to know of it.
type Harness struct {
	// Store is the store under test. It must hold nothing yet. If it gives up after a time, let that be long
	// enough for 64 callers under the race detector: an error fails the case.
	Store limiter.Store

	// Advance moves the clock by which Store decides, and with it the clocks of whatever makes counters expire
	// and of whatever answers in their place; a cache of refusals on another clock has to be switched off.
	// A clock that can be moved must not move by itself. Advance is called by one goroutine at a time, and not
	// during a call of Store.
	//
	// A negative duration sets the clock back. Where the clock of the store never goes back, as a monotonic one
	// does not, nothing must happen: neither then nor later, when time goes on from where it stands.
	//
	// nil is for stores on a clock that nobody can move, such as a real server's. The cases that need to move
	// time are skipped, and the others allow for a clock that goes on while they run.
	Advance func(time.Duration)

	// Algorithms are those that Store runs; nil means all. Of the others it must say that they are unsupported.
	Algorithms []limiter.Algorithm
}

// Run tests a store. It calls new for every case and algorithm, from the goroutine of the test that it is passed,
// so that a harness can register its cleanup there; new calls t.Fatal if it cannot make a store.
//
// Each case is a subtest of its own, named after its subject, with one subtest for each algorithm:
//
//	go test -run 'TestStore/refund.*/sliding-log'
//
// A case that fails says why it exists.
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
					c.run(newSubject(t, new(t), algorithm))
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
	return []limiter.Algorithm{limiter.SlidingWindow, limiter.SlidingLog, limiter.FixedWindow, limiter.TokenBucket}
}
