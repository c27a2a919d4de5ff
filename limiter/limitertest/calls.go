package limitertest

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/httplimit/httplimit/limiter"
)

func testEndedContext(s *storeTest) {
	canceled, cancel := context.WithCancel(s.Context())
	cancel()
	late, cancel := context.WithDeadline(s.Context(), time.Now().Add(-time.Hour))
	defer cancel()
	key := s.charge("key", 5, 1)
	s.pass(key)
	for _, ctx := range []context.Context{canceled, late} {
		for _, mode := range []limiter.Mode{limiter.Enforce, limiter.Shadow, limiter.Force} {
			for _, n := range []int64{2, -1} {
				taken, err := s.Store.Take(ctx, []limiter.Charge{as(mode, cost(n, key))})
				if taken || !errors.Is(err, ctx.Err()) {
					s.Errorf("Take (%s, cost %d) with an ended context: %t, %v, want false, %v", modeName(mode), n, taken, err,
						ctx.Err())
				}
			}
		}
	}
	s.wantLeft(4, key)
	s.pass(cost(4, key))
	zero := []limiter.Charge{s.charge("key", 0, 1)}
	if taken, err := s.Store.Take(canceled, zero); taken || !errors.Is(err, context.Canceled) {
		s.Errorf("Take on a limit of 0 with an ended context: %t, %v, want false, %v", taken, err, context.Canceled)
	}
}

// aliasing returns a string over memory whose owner will use it for something else.
func aliasing(memory []byte) string { return unsafe.String(unsafe.SliceData(memory), len(memory)) }

func testChargesUsedAgain(s *storeTest) {
	memory := []byte("login" + "alice")
	charges := []limiter.Charge{{Scope: aliasing(memory[:5]), Key: aliasing(memory[5:]), Limit: s.per(5, still), Cost: 5}}
	take := func(want bool) {
		s.Helper()
		if taken, err := s.Store.Take(s.Context(), charges); taken != want || err != nil {
			s.Fatalf("Take for %s of %s: %t, %v, want %t, nil", charges[0].Key, charges[0].Scope, taken, err, want)
		}
	}
	copy(memory, "login"+"alice")
	take(true)
	take(false)
	copy(memory, "login"+"bobby") // the memory is used for the next request
	take(true)
	take(false)
	copy(memory, "shops"+"alice")
	take(true)
	copy(memory, "login"+"alice")
	take(false)
	if err := s.Store.Reset(s.Context(), charges); err != nil {
		s.Fatalf("Reset: %v", err)
	}
	copy(memory, "login"+"bobby")
	take(false)
	copy(memory, "login"+"carol")
	clear(charges)

	for _, want := range []struct {
		scope, key string
		held       int64
	}{{"login", "alice", 0}, {"login", "bobby", 5}, {"shops", "alice", 5}, {"login", "carol", 0}, {"shops", "bobby", 0}} {
		s.wantHeld(want.held, limiter.Charge{Scope: want.scope, Key: want.key, Limit: s.per(5, still)})
	}
}

func testAbandonedCalls(s *storeTest) {
	var calls atomic.Int64
	together(func(caller int) {
		for range 8 {
			ctx, cancel := context.WithCancel(s.Context())
			memory := []byte("alice")
			charges := []limiter.Charge{{Scope: "scope", Key: aliasing(memory), Limit: s.per(1000, still), Cost: 1}}
			calls.Add(1)
			go cancel() // at some moment of the call
			_, err := s.Store.Take(ctx, charges)
			copy(memory, "xxxxx")
			clear(charges)
			if err != nil && !errors.Is(err, context.Canceled) {
				s.Errorf("Take with a context that ends: %v, want nil or %v", err, context.Canceled)
			}
		}
	})
	alice := limiter.Charge{Scope: "scope", Key: "alice", Limit: s.per(1000, still)}
	if got := s.ask(as(limiter.Peek, alice)); got.Current > calls.Load() {
		s.Errorf("%d calls spent %d units", calls.Load(), got.Current)
	}
	other := alice
	other.Key = "xxxxx"
	s.wantHeld(0, other)
}

func testUnsupported(s *storeTest) {
	key := s.charge("key", 5, 1)
	checker, checks := s.Store.(limiter.Checker)
	for _, algorithm := range everyAlgorithm() {
		foreign := key
		foreign.Limit.Algorithm = algorithm
		supported := s.supports(algorithm)
		if checks {
			if err := checker.Check(foreign.Limit); (err == nil) != supported || !supported &&
				!errors.Is(err, limiter.ErrUnsupported) {
				s.Errorf("Check of %v: %v, want an error that wraps ErrUnsupported: %t", foreign.Limit, err, !supported)
			}
		}
		if supported {
			continue
		}
		for _, mode := range []limiter.Mode{limiter.Enforce, limiter.Shadow, limiter.Peek} {
			for _, charges := range [][]limiter.Charge{{key, as(mode, foreign)}, {as(mode, foreign), key}} {
				if taken, err := s.Store.Take(s.Context(), charges); taken || !errors.Is(err, limiter.ErrUnsupported) {
					s.Errorf("Take of\n%v\n got %t, %v, want false and an error that wraps ErrUnsupported", batch(charges), taken, err)
				}
			}
		}
	}
	s.wantLeft(5, key)
}
