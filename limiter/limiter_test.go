package limiter_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/internal/refstore"
)

// noon is when the clock of these tests stands, at the start of a window of any length in common use.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).UnixMilli()

// newLimiter returns a Limiter and its clock.
func newLimiter(t *testing.T, limits ...limiter.Limit) (*limiter.Limiter, *atomic.Int64) {
	t.Helper()
	var clock atomic.Int64
	clock.Store(noon)
	l, err := limiter.New(refstore.New(clock.Load), "scope", limits...)
	if err != nil {
		t.Fatal(err)
	}
	return l, &clock
}

// picky refuses logs.
type picky struct{ *refstore.Store }

var errPicky = errors.New("picky: no logs here")

func (picky) Check(l limiter.Limit) error {
	if l.Algorithm == limiter.SlidingLog {
		return errPicky
	}
	return nil
}

func TestNewNamesEveryFault(t *testing.T) {
	s := refstore.New(func() int64 { return noon })
	log := limiter.Limit{Requests: 5, Window: time.Minute, Algorithm: limiter.SlidingLog}
	for _, tc := range []struct {
		name   string
		store  limiter.Store
		limits []limiter.Limit
		faults []string
	}{
		{"nothing", nil, nil, []string{"store is nil", "no limits"}},
		{"no limits", s, nil, []string{"no limits"}},
		{"no store", nil, []limiter.Limit{limiter.PerMinute(5)}, []string{"store is nil"}},
		{"invalid limits", s, []limiter.Limit{limiter.PerMinute(-1), limiter.PerHour(5), limiter.Per(5, 0)},
			[]string{"limits[0]: limiter: Requests is -1", "limits[2]: limiter: Window is 0s"}},
		{"one counter", s, []limiter.Limit{limiter.PerMinute(5), limiter.PerHour(10), limiter.Per(6, 60*time.Second)},
			[]string{"limits[0] and limits[2] have the same Algorithm and Window"}},
		{"refused by the store", picky{s}, []limiter.Limit{limiter.PerMinute(5), log},
			[]string{"limits[1]: " + errPicky.Error()}},
		{"invalid before refused", picky{s}, []limiter.Limit{{Algorithm: limiter.SlidingLog}},
			[]string{"limits[0]: limiter: Window is 0s"}},
		{"invalid without a store", nil, []limiter.Limit{limiter.PerMinute(-1)},
			[]string{"store is nil", "limits[0]: limiter: Requests is -1"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l, err := limiter.New(tc.store, "scope", tc.limits...)
			if l != nil || err == nil {
				t.Fatalf("New: %v, %v, want nil and an error", l, err)
			}
			if lines := strings.Split(err.Error(), "\n"); len(lines) != len(tc.faults) {
				t.Errorf("got %d faults, want %d:\n%v", len(lines), len(tc.faults), err)
			}
			for _, want := range tc.faults {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %v\nwant %q in it", err, want)
				}
			}
		})
	}
}

func TestNewAccepts(t *testing.T) {
	s := refstore.New(func() int64 { return noon })
	for name, limits := range map[string][]limiter.Limit{
		"one":          {limiter.PerMinute(5)},
		"a limit of 0": {limiter.PerMinute(0)},
		"two windows":  {limiter.PerMinute(5), limiter.PerHour(5)},
		"two algorithms, one window": {limiter.PerMinute(5),
			{Requests: 5, Window: time.Minute, Algorithm: limiter.FixedWindow}},
	} {
		if _, err := limiter.New(picky{s}, "", limits...); err != nil {
			t.Errorf("%s: %v, want nil", name, err)
		}
	}
	log := limiter.Limit{Requests: 5, Window: time.Minute, Algorithm: limiter.SlidingLog}
	if _, err := limiter.New(picky{s}, "scope", log); !errors.Is(err, errPicky) {
		t.Errorf("a limit that the store refuses: %v, want %v", err, errPicky)
	}
}

func TestNewCopiesLimits(t *testing.T) {
	limits := []limiter.Limit{limiter.PerMinute(1)}
	l, _ := newLimiter(t, limits...)
	limits[0] = limiter.PerMinute(100)
	allow(t, l, "key", 1, limiter.Decision{Allowed: true, ResetAfter: 2*time.Minute - (time.Minute - time.Millisecond)})
	if d, err := l.Allow(t.Context(), "key"); err != nil || d.Allowed {
		t.Errorf("second of 1: %+v, %v, want a refusal", d, err)
	}
}

// allow is AllowN with a decision to compare.
func allow(t *testing.T, l *limiter.Limiter, key string, n int64, want limiter.Decision) {
	t.Helper()
	if got, err := l.AllowN(t.Context(), key, n); err != nil || got != want {
		t.Errorf("AllowN(%q, %d):\n got %+v, %v\nwant %+v, nil", key, n, got, err, want)
	}
}

func fixed(n int64, window time.Duration) limiter.Limit {
	return limiter.Limit{Requests: n, Window: window, Algorithm: limiter.FixedWindow}
}

func TestAllowIsAllOrNothing(t *testing.T) {
	l, clock := newLimiter(t, fixed(2, time.Minute), fixed(3, time.Hour))
	type want = limiter.Decision

	allow(t, l, "key", 1, want{Allowed: true, Remaining: 1, ResetAfter: time.Hour})
	allow(t, l, "key", 1, want{Allowed: true, Remaining: 0, ResetAfter: time.Hour})
	// The minute refuses. The hour, which would not, must not be charged.
	for range 3 {
		allow(t, l, "key", 1, want{RetryAfter: time.Minute, ResetAfter: time.Hour})
	}
	clock.Add(60_000)
	allow(t, l, "key", 1, want{Allowed: true, Remaining: 0, ResetAfter: 59 * time.Minute})
	// Now the hour refuses, and the minute has one left: the stricter one is returned.
	allow(t, l, "key", 1, want{RetryAfter: 59 * time.Minute, ResetAfter: 59 * time.Minute})
	// 2 fit the hour only, 3 fit neither: the longest wait; above a limit, never.
	allow(t, l, "other", 3, want{RetryAfter: limiter.Never, Remaining: 2})
	allow(t, l, "other", 2, want{Allowed: true, Remaining: 0, ResetAfter: 59 * time.Minute})
	allow(t, l, "third", 0, want{Allowed: true, Remaining: 2})
}

func TestAllowNRefusesNegativeCosts(t *testing.T) {
	l, _ := newLimiter(t, limiter.PerMinute(5))
	if d, err := l.AllowN(t.Context(), "key", -1); err == nil || d != (limiter.Decision{}) {
		t.Errorf("AllowN of -1: %+v, %v, want an error", d, err)
	}
	if err := l.Refund(t.Context(), "key", -1); err == nil {
		t.Error("Refund of -1: nil, want an error")
	}
	if d, err := l.Peek(t.Context(), "key"); err != nil || d.Remaining != 5 {
		t.Errorf("after that: %+v, %v, want 5 remaining", d, err)
	}
}

func TestPeek(t *testing.T) {
	l, _ := newLimiter(t, fixed(2, time.Minute))
	for _, want := range []limiter.Decision{
		{Allowed: true, Remaining: 2},
		{Allowed: true, Remaining: 1, ResetAfter: time.Minute},
		{RetryAfter: time.Minute, ResetAfter: time.Minute},
	} {
		for range 2 {
			if got, err := l.Peek(t.Context(), "key"); err != nil || got != want {
				t.Errorf("Peek: %+v, %v, want %+v, nil", got, err, want)
			}
		}
		d, err := l.Allow(t.Context(), "key")
		if err != nil || d.Allowed != want.Allowed {
			t.Errorf("Allow: %+v, %v, want allowed %t as Peek says", d, err, want.Allowed)
		}
	}
}

func TestRefundAndReset(t *testing.T) {
	l, _ := newLimiter(t, fixed(5, time.Minute), limiter.PerHour(10))
	remaining := func(want int64) {
		t.Helper()
		if d, err := l.Peek(t.Context(), "key"); err != nil || d.Remaining != want {
			t.Errorf("%+v, %v, want %d remaining", d, err, want)
		}
	}
	if err := l.Refund(t.Context(), "key", 3); err != nil {
		t.Errorf("Refund of an unknown key: %v, want nil", err)
	}
	remaining(5)
	if d, err := l.AllowN(t.Context(), "key", 5); err != nil || !d.Allowed {
		t.Fatalf("5 of 5: %+v, %v, want it allowed", d, err)
	}
	if err := l.Refund(t.Context(), "key", 2); err != nil {
		t.Errorf("Refund: %v, want nil", err)
	}
	remaining(2)
	if err := l.Refund(t.Context(), "key", 100); err != nil {
		t.Errorf("Refund of too much: %v, want nil", err)
	}
	remaining(5)
	if d, err := l.AllowN(t.Context(), "key", 4); err != nil || !d.Allowed {
		t.Fatalf("4 of 5: %+v, %v, want it allowed", d, err)
	}
	if d, err := l.AllowN(t.Context(), "key, too", 4); err != nil || !d.Allowed {
		t.Fatalf("4 of 5: %+v, %v, want it allowed", d, err)
	}
	if err := l.Reset(t.Context(), "key"); err != nil {
		t.Errorf("Reset: %v, want nil", err)
	}
	remaining(5)
	if d, err := l.Peek(t.Context(), "key, too"); err != nil || d.Remaining != 1 {
		t.Errorf("another key after the reset: %+v, %v, want 1 remaining", d, err)
	}
}

func TestScopes(t *testing.T) {
	s := refstore.New(func() int64 { return noon })
	newIn := func(scope string) *limiter.Limiter {
		l, err := limiter.New(s, scope, limiter.PerMinute(1))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	mail, alsoMail, calls := newIn("mail"), newIn("mail"), newIn("calls")
	for _, tc := range []struct {
		name string
		l    *limiter.Limiter
		want bool
	}{{"mail", mail, true}, {"the same scope", alsoMail, false}, {"another scope", calls, true}} {
		if d, err := tc.l.Allow(t.Context(), "key"); err != nil || d.Allowed != tc.want {
			t.Errorf("%s: %+v, %v, want allowed %t", tc.name, d, err, tc.want)
		}
	}
}

// broken cannot decide.
type broken struct{ limiter.Store }

var errBroken = errors.New("broken: no answer")

func (broken) Take(context.Context, []limiter.Charge) (bool, error) { return true, errBroken }
func (broken) Reset(context.Context, []limiter.Charge) error        { return errBroken }

func TestErrorsOfTheStore(t *testing.T) {
	l, err := limiter.New(broken{}, "scope", limiter.PerMinute(1))
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for name, call := range map[string]func() (limiter.Decision, error){
		"Allow":  func() (limiter.Decision, error) { return l.Allow(ctx, "key") },
		"AllowN": func() (limiter.Decision, error) { return l.AllowN(ctx, "key", 2) },
		"Peek":   func() (limiter.Decision, error) { return l.Peek(ctx, "key") },
		"Refund": func() (limiter.Decision, error) { return limiter.Decision{}, l.Refund(ctx, "key", 1) },
		"Reset":  func() (limiter.Decision, error) { return limiter.Decision{}, l.Reset(ctx, "key") },
		"Wait":   func() (limiter.Decision, error) { return limiter.Decision{}, l.Wait(ctx, "key") },
		"Stats": func() (limiter.Decision, error) {
			stats, err := l.Stats(ctx, "key")
			if stats != nil {
				t.Errorf("Stats: %v beside the error, want nil", stats)
			}
			return limiter.Decision{}, err
		},
	} {
		if d, err := call(); !errors.Is(err, errBroken) || d != (limiter.Decision{}) {
			t.Errorf("%s: %+v, %v, want the zero Decision and %v", name, d, err, errBroken)
		}
	}
}

func TestLimiterIsSafeForConcurrentUse(t *testing.T) {
	l, _ := newLimiter(t, fixed(50, time.Minute), fixed(100, time.Hour))
	var (
		allowed atomic.Int64
		wait    sync.WaitGroup
	)
	for i := range 64 {
		wait.Go(func() {
			for range 4 {
				key := []string{"a", "b"}[i%2]
				d, err := l.Allow(t.Context(), key)
				if err != nil {
					t.Errorf("Allow: %v", err)
				}
				if d.Allowed {
					allowed.Add(1)
				}
			}
		})
	}
	wait.Wait()
	if got := allowed.Load(); got != 2*50 {
		t.Errorf("%d of 256 calls on two keys allowed, want 100", got)
	}
}
