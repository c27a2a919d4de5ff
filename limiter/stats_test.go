package limiter_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

func TestStats(t *testing.T) {
	l, clock := newLimiter(t,
		limiter.PerMinute(10),
		fixed(20, time.Minute),
		limiter.Limit{Requests: 30, Window: time.Minute, Algorithm: limiter.SlidingLog},
		limiter.Limit{Requests: 60, Window: time.Minute, Algorithm: limiter.TokenBucket},
		limiter.Limit{Requests: 40, Window: time.Minute, Algorithm: limiter.StrictWindow},
	)
	take := func(n int64) {
		t.Helper()
		if d, err := l.AllowN(t.Context(), "key", n); err != nil || !d.Allowed {
			t.Fatalf("AllowN %d: %+v, %v, want it allowed", n, d, err)
		}
	}
	take(8)
	clock.Add(75_000)
	take(3)

	at := time.UnixMilli(noon + 75_000).UTC()
	start, end := at.Add(-15*time.Second), at.Add(45*time.Second)
	want := []limiter.Stats{
		{
			Limit: limiter.PerMinute(10), At: at, WindowStart: start, WindowEnd: end,
			Current: 3, Previous: 8, PreviousWeight: 0.75, Estimate: 9,
			Allowed: true, Remaining: 1, ResetAfter: 45*time.Second + time.Minute - 19_999*time.Millisecond,
		},
		{
			Limit: fixed(20, time.Minute), At: at, WindowStart: start, WindowEnd: end,
			Current: 3, Estimate: 3, Allowed: true, Remaining: 17, ResetAfter: 45 * time.Second,
		},
		{
			Limit: limiter.Limit{Requests: 30, Window: time.Minute, Algorithm: limiter.SlidingLog}, At: at,
			WindowStart: at.Add(-time.Minute), WindowEnd: at,
			Current: 3, Estimate: 3, Allowed: true, Remaining: 27, ResetAfter: time.Minute,
		},
		{
			Limit: limiter.Limit{Requests: 60, Window: time.Minute, Algorithm: limiter.TokenBucket}, At: at,
			WindowStart: at.Add(-time.Minute), WindowEnd: at,
			Current: 3, Estimate: 3, Allowed: true, Remaining: 57, ResetAfter: 3 * time.Second,
		},
		{
			// The ten parts of six seconds before the present one, which began three seconds ago, and that one.
			Limit: limiter.Limit{Requests: 40, Window: time.Minute, Algorithm: limiter.StrictWindow}, At: at,
			WindowStart: at.Add(-63 * time.Second), WindowEnd: at.Add(3 * time.Second),
			Current: 3, Estimate: 3, Allowed: true, Remaining: 37, ResetAfter: 63 * time.Second,
		},
	}
	for range 2 { // Stats spends nothing
		got, err := l.Stats(t.Context(), "key")
		if err != nil || len(got) != len(want) {
			t.Fatalf("Stats: %d, %v, want %d, nil", len(got), err, len(want))
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%v:\n got %+v\nwant %+v", want[i].Limit, got[i], want[i])
			}
		}
	}
}

// Programs outside this repository read this: names and units stay.
func TestStatsInJSON(t *testing.T) {
	l, clock := newLimiter(t, limiter.PerSecond(2))
	for range 2 {
		if _, err := l.Allow(t.Context(), "key"); err != nil {
			t.Fatal(err)
		}
	}
	clock.Add(1000)
	stats, err := l.Stats(t.Context(), "key")
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(stats)
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"limit":"2/s","at":"2026-11-20T12:00:01Z","windowStart":"2026-11-20T12:00:01Z",` +
		`"windowEnd":"2026-11-20T12:00:02Z",` +
		`"current":0,"previous":2,"previousWeight":1,"estimate":2,"allowed":false,"remaining":0,` +
		`"retryAfter":1,"resetAfter":501}]`
	if string(got) != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}
