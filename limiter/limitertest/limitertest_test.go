package limitertest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/internal/refstore"
	"github.com/httplimit/httplimit/limiter/storekit"
)

func TestReference(t *testing.T) {
	Run(t, func(*testing.T) Harness {
		r, advance := newReference()
		return Harness{Store: r, Advance: advance}
	})
}

// A clock that never goes back absorbs steps back in its harness.
func TestMonotonicClock(t *testing.T) {
	Run(t, func(*testing.T) Harness {
		r, advance := newReference()
		return Harness{Store: r, Advance: func(d time.Duration) { advance(max(0, d)) }}
	})
}

// A clock that the tests cannot move goes on while the cases run.
func TestRealClock(t *testing.T) {
	Run(t, func(*testing.T) Harness {
		r, _ := newReference()
		r.Clock = func() int64 { return time.Now().UnixMilli() }
		return Harness{Store: r}
	})
}

func TestWindowsOnly(t *testing.T) {
	Run(t, func(*testing.T) Harness {
		r, advance := newReference()
		return Harness{
			Store: windowsOnly{r}, Advance: advance,
			Algorithms: []limiter.Algorithm{limiter.FixedWindow, limiter.SlidingWindow},
		}
	})
}

// windowsOnly says at once that it does not run the other algorithms.
type windowsOnly struct{ *refstore.Store }

func (s windowsOnly) Check(l limiter.Limit) error {
	if l.Algorithm != limiter.SlidingWindow && l.Algorithm != limiter.FixedWindow {
		return fmt.Errorf("windows only: %w", limiter.ErrUnsupported)
	}
	return nil
}

func (s windowsOnly) Take(ctx context.Context, charges []limiter.Charge) (bool, error) {
	for i := range charges {
		if err := s.Check(charges[i].Limit); err != nil {
			return false, err
		}
	}
	return s.Store.Take(ctx, charges)
}

// A store may cache its refusals.
func TestCachedRefusals(t *testing.T) {
	Run(t, func(*testing.T) Harness {
		r, advance := newReference()
		start := r.Clock()
		return Harness{
			Store: &caching{Store: r, denied: storekit.NewDenyCache(0), now: func() time.Duration {
				return time.Duration(r.Clock()-start) * time.Millisecond
			}},
			Advance: func(d time.Duration) { advance(max(0, d)) }, // a deny cache runs on a clock that never goes back
		}
	})
}

type caching struct {
	limiter.Store
	denied *storekit.DenyCache
	now    func() time.Duration
}

func (s *caching) Take(ctx context.Context, charges []limiter.Charge) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	now := s.now()
	if s.denied.Answer(charges, now) {
		return false, nil
	}
	taken, err := s.Store.Take(ctx, charges)
	if err != nil {
		s.denied.Forget(charges, now)
		return false, err
	}
	s.denied.Learn(charges, taken, now, s.now())
	return taken, nil
}

func (s *caching) Reset(ctx context.Context, charges []limiter.Charge) error {
	err := s.Store.Reset(ctx, charges)
	for i := range charges {
		s.denied.Drop(&charges[i], s.now())
	}
	return err
}

func TestSuiteIsDocumented(t *testing.T) {
	var names []string
	for _, c := range suite() {
		if c.name == "" || c.why == "" || c.run == nil {
			t.Errorf("case %q: why %q, run set: %t, want all of them", c.name, c.why, c.run != nil)
		}
		if slices.Contains(names, c.name) {
			t.Errorf("two cases are named %q", c.name)
		}
		names = append(names, c.name)
	}
}
