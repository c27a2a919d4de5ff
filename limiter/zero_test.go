package limiter_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/internal/refstore"
)

// zeroes are limits of 0 of every algorithm.
func zeroes() []limiter.Limit {
	return []limiter.Limit{
		limiter.PerMinute(0), fixed(0, time.Minute),
		{Window: time.Minute, Algorithm: limiter.SlidingLog},
		{Window: time.Minute, Algorithm: limiter.TokenBucket},
	}
}

func TestLimitOfZeroRefuses(t *testing.T) {
	refusal := limiter.Decision{RetryAfter: limiter.Never}
	for _, zero := range zeroes() {
		l, _ := newLimiter(t, zero)
		for range 2 {
			for _, n := range []int64{0, 1, 7} {
				allow(t, l, "key", n, refusal)
			}
		}
		if d, err := l.Peek(t.Context(), "key"); err != nil || d != refusal {
			t.Errorf("%v: Peek: %+v, %v, want %+v, nil", zero, d, err, refusal)
		}
		if err := l.Refund(t.Context(), "key", 3); err != nil {
			t.Errorf("%v: Refund: %v, want nil", zero, err)
		}
		if err := l.Reset(t.Context(), "key"); err != nil {
			t.Errorf("%v: Reset: %v, want nil", zero, err)
		}
	}
}

func TestLimitOfZeroBesideOthers(t *testing.T) {
	suspended, _ := newLimiter(t, fixed(5, time.Hour), limiter.PerMinute(0))
	for range 3 {
		allow(t, suspended, "key", 1, limiter.Decision{RetryAfter: limiter.Never})
	}
	stats, err := suspended.Stats(t.Context(), "key")
	if err != nil || stats[0].Current != 0 || !stats[0].Allowed {
		t.Errorf("Stats of the other limit: %+v, %v, want nothing spent", stats, err)
	}
}

// Neither a context without an end nor one with is waited for: no unit will ever come.
func TestWaitUnderALimitOfZeroFailsAtOnce(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	for _, zero := range zeroes() {
		l, _ := newLimiter(t, zero)
		for name, ctx := range map[string]context.Context{"without an end": context.Background(), "of an hour": ctx} {
			if err := l.Wait(ctx, "key"); err == nil || errors.Is(err, context.Canceled) {
				t.Errorf("%v: Wait with a context %s: %v, want an error that says that it can never be", zero, name, err)
			}
		}
	}
}

// An operator who looks at a suspended client sees what it has spent.
func TestStatsUnderALimitOfZero(t *testing.T) {
	at := time.UnixMilli(noon + 15_000).UTC()
	for _, zero := range zeroes() {
		usual := zero
		usual.Requests = 10
		store := refstore.New(at.UnixMilli)
		before, err := limiter.New(store, "scope", usual)
		if err != nil {
			t.Fatal(err)
		}
		l, err := limiter.New(store, "scope", zero)
		if err != nil {
			t.Fatal(err)
		}
		if d, err := before.AllowN(t.Context(), "key", 4); err != nil || !d.Allowed {
			t.Fatalf("%v: 4 of 10: %+v, %v, want it allowed", usual, d, err)
		}
		for range 2 { // looking spends nothing
			stats, err := l.Stats(t.Context(), "key")
			if err != nil {
				t.Fatalf("%v: Stats: %v", zero, err)
			}
			got := stats[0]
			if got.Limit != zero || got.At != at || got.Current != 4 || got.Estimate != 4 || got.Allowed || got.Remaining != 0 ||
				got.RetryAfter != limiter.Never || got.ResetAfter != 0 || !got.WindowEnd.After(got.WindowStart) {
				t.Errorf("%v: got %+v, want 4 units in use at %v, and nothing allowed", zero, got, at)
			}
			if _, err := json.Marshal(got); err != nil {
				t.Errorf("%v: Stats as JSON: %v", zero, err)
			}
		}
	}
}
