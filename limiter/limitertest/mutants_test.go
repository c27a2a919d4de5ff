package limitertest

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
	"github.com/httplimit/httplimit/limiter/internal/refstore"
)

// mutant is a store with one fault, and the case that exists because of it.
type mutant struct {
	name      string
	fails     string // the case that must notice
	algorithm limiter.Algorithm
	make      func(r *refstore.Store) limiter.Store
}

// recorder stands in for *testing.T.
type recorder struct {
	ctx      context.Context
	mu       sync.Mutex
	failures []string
}

func (r *recorder) Helper() {}

func (r *recorder) Context() context.Context { return r.ctx }

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

// failures runs one case, and returns what it complains about.
func failures(c testCase, h Harness, algorithm limiter.Algorithm) []string {
	r := &recorder{ctx: context.Background()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.run(newStoreTest(r, h, algorithm))
	}()
	<-done
	return r.failures
}

// attempts is how often a case is given the chance to catch a mutant. One is enough but for a fault that is a race: on
// a busy machine the callers of a case may happen to come one after the other.
const attempts = 50

// Every mutant fails the case that is made for it, which the reference without the fault passes.
func TestMutants(t *testing.T) {
	for _, m := range mutants() {
		t.Run(m.name, func(t *testing.T) {
			c, ok := caseNamed(m.fails)
			if !ok {
				t.Fatalf("no case is named %q", m.fails)
			}
			var got []string
			for range attempts {
				faulty, advance := newReference()
				h := Harness{Store: m.make(faulty), Advance: advance}
				if c.name == "unsupported algorithms" {
					h.Algorithms = []limiter.Algorithm{limiter.SlidingWindow}
				}
				if got = failures(c, h, m.algorithm); len(got) > 0 {
					break
				}
			}
			if len(got) == 0 {
				t.Fatalf("case %q passes a store with this fault, want a failure", c.name)
			}
		})
	}
}

// A case that catches no mutant might be one that cannot fail.
func TestEveryCaseCatchesAMutant(t *testing.T) {
	for _, c := range suite() {
		if !slices.ContainsFunc(mutants(), func(m mutant) bool { return m.fails == c.name }) {
			t.Errorf("no mutant is made for case %q", c.name)
		}
	}
}

func caseNamed(name string) (testCase, bool) {
	for _, c := range suite() {
		if c.name == name {
			return c, true
		}
	}
	return testCase{}, false
}

// changed is a store with another Take or Reset.
type changed struct {
	*refstore.Store
	take  func(ctx context.Context, charges []limiter.Charge) (bool, error)
	reset func(ctx context.Context, charges []limiter.Charge) error
}

func (s changed) Take(ctx context.Context, charges []limiter.Charge) (bool, error) {
	if s.take != nil {
		return s.take(ctx, charges)
	}
	return s.Store.Take(ctx, charges)
}

func (s changed) Reset(ctx context.Context, charges []limiter.Charge) error {
	if s.reset != nil {
		return s.reset(ctx, charges)
	}
	return s.Store.Reset(ctx, charges)
}

// misread passes on other charges than it was given, and returns the answers.
func misread(change func(*limiter.Charge)) func(*refstore.Store) limiter.Store {
	return func(r *refstore.Store) limiter.Store {
		return changed{Store: r, take: func(ctx context.Context, charges []limiter.Charge) (bool, error) {
			others := append([]limiter.Charge(nil), charges...)
			for i := range others {
				change(&others[i])
			}
			taken, err := r.Take(ctx, others)
			for i := range charges {
				c, other := &charges[i], &others[i]
				c.State, c.Decision, c.Cached = other.State, other.Decision, other.Cached
			}
			return taken, err
		}}
	}
}

// misreported returns something else than was decided.
func misreported(change func(*limiter.Charge)) func(*refstore.Store) limiter.Store {
	return func(r *refstore.Store) limiter.Store {
		return changed{Store: r, take: func(ctx context.Context, charges []limiter.Charge) (bool, error) {
			taken, err := r.Take(ctx, charges)
			for i := range charges {
				change(&charges[i])
			}
			return taken, err
		}}
	}
}

// misnamed counts on another counter.
func misnamed(name func(refstore.ID) refstore.ID) func(*refstore.Store) limiter.Store {
	return func(r *refstore.Store) limiter.Store {
		r.Rename = name
		return r
	}
}

// misloaded reads something else than was stored.
func misloaded(load func(c *refstore.Counter, l limiter.Limit,
	now int64) algorithm.Usage) func(*refstore.Store) limiter.Store {
	return func(r *refstore.Store) limiter.Store {
		r.Load = load
		return r
	}
}

// miskept stores something else than it should.
func miskept(kept func(c *refstore.Counter, l limiter.Limit, now int64)) func(*refstore.Store) limiter.Store {
	return func(r *refstore.Store) limiter.Store {
		r.Saved = kept
		return r
	}
}

// mistaken takes batches in its own way.
func mistaken(take func(ctx context.Context, r *refstore.Store, charges []limiter.Charge) (bool,
	error)) func(*refstore.Store) limiter.Store {
	return func(r *refstore.Store) limiter.Store {
		return changed{Store: r, take: func(ctx context.Context, charges []limiter.Charge) (bool, error) {
			return take(ctx, r, charges)
		}}
	}
}

// misreset forgets in its own way.
func misreset(reset func(r *refstore.Store, charges []limiter.Charge)) func(*refstore.Store) limiter.Store {
	return func(r *refstore.Store) limiter.Store {
		return changed{Store: r, reset: func(_ context.Context, charges []limiter.Charge) error {
			r.Mu.Lock()
			defer r.Mu.Unlock()
			reset(r, charges)
			return nil
		}}
	}
}

func mutants() []mutant {
	var all []mutant
	for _, some := range [][]mutant{batchMutants(), modeMutants(), refundMutants(), nameMutants(), timeMutants(),
		callMutants(), zeroMutants(), strictMutants()} {
		all = append(all, some...)
	}
	return all
}

const aDay = 24 * time.Hour
