package limiter_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

const (
	day  = 24 * time.Hour
	year = 366 * day
)

func TestConstructors(t *testing.T) {
	for _, tc := range []struct {
		name   string
		limit  limiter.Limit
		window time.Duration
	}{
		{"PerSecond", limiter.PerSecond(7), time.Second},
		{"PerMinute", limiter.PerMinute(7), time.Minute},
		{"PerHour", limiter.PerHour(7), time.Hour},
		{"PerDay", limiter.PerDay(7), day},
		{"Per", limiter.Per(7, 90*time.Second), 90 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := limiter.Limit{Requests: 7, Window: tc.window, Algorithm: limiter.SlidingWindow}
			if tc.limit != want {
				t.Errorf("got %+v, want %+v", tc.limit, want)
			}
		})
	}
}

func TestCapacity(t *testing.T) {
	l := limiter.Limit{Requests: 10, Window: time.Second, Algorithm: limiter.TokenBucket}
	if got := l.Capacity(); got != 10 {
		t.Errorf("without a burst: got %d, want 10", got)
	}
	l.Burst = 3
	if got := l.Capacity(); got != 3 {
		t.Errorf("with a burst of 3: got %d, want 3", got)
	}
}

func TestValidateAccepts(t *testing.T) {
	for _, l := range []limiter.Limit{
		limiter.Per(1, time.Millisecond),
		limiter.Per(0, time.Millisecond),
		limiter.PerDay(0),
		{Window: year, Algorithm: limiter.SlidingLog},
		{Window: year, Algorithm: limiter.FixedWindow},
		{Window: year, Algorithm: limiter.TokenBucket},
		limiter.Per(1_000_000_000, year),
		{Requests: 1_000_000_000, Window: year, Algorithm: limiter.FixedWindow},
		{Requests: 100_000, Window: year, Algorithm: limiter.SlidingLog},
		{Requests: 1, Window: time.Millisecond, Algorithm: limiter.StrictWindow},
		{Requests: 1_000_000_000, Window: year, Algorithm: limiter.StrictWindow},
		{Requests: 1, Window: time.Millisecond, Algorithm: limiter.TokenBucket},
		{Requests: 1, Window: time.Second, Algorithm: limiter.TokenBucket, Burst: 1_000_000_000},
		{Requests: 1 << 30 / 2, Window: 1 << 22 * time.Millisecond, Algorithm: limiter.TokenBucket},       // 2^51
		{Requests: 1, Window: 1 << 23 * time.Millisecond, Algorithm: limiter.TokenBucket, Burst: 1 << 29}, // 2^52
	} {
		if err := l.Validate(); err != nil {
			t.Errorf("%+v: %v, want nil", l, err)
		}
	}
}

func TestValidateNamesEveryFault(t *testing.T) {
	for _, tc := range []struct {
		name   string
		limit  limiter.Limit
		faults []string
	}{
		{"zero", limiter.Limit{}, []string{"Window is 0s"}},
		{"negative requests", limiter.Per(-1, time.Second), []string{"Requests is -1"}},
		{"requests", limiter.Per(1_000_000_001, time.Second), []string{"Requests is 1000000001, want 0 to 1000000000"}},
		{"requests of a log", limiter.Limit{Requests: 100_001, Window: time.Second, Algorithm: limiter.SlidingLog},
			[]string{"Requests is 100001, want 0 to 100000"}},
		{"negative window", limiter.Per(1, -time.Second), []string{"Window is -1s"}},
		{"no whole window", limiter.Per(1, 1500*time.Microsecond), []string{"Window is 1.5ms, want whole milliseconds"}},
		{"short window", limiter.Per(1, 999*time.Microsecond), []string{"Window is 999µs, want 1ms to 366 days"}},
		{"long window", limiter.Per(1, year+time.Millisecond), []string{"Window is 8784h0m0.001s, want 1ms to 366 days"}},
		{"longest duration", limiter.Per(1, math.MaxInt64), []string{"Window is"}},
		{"burst of a window", limiter.Limit{Requests: 1, Window: time.Second, Burst: 1},
			[]string{"Burst is 1, want 0 for sliding-window"}},
		{"burst of a log", limiter.Limit{Requests: 1, Window: time.Second, Algorithm: limiter.SlidingLog, Burst: -1},
			[]string{"Burst is -1, want 0 for sliding-log"}},
		{"requests of a strict window",
			limiter.Limit{Requests: 1_000_000_001, Window: time.Second, Algorithm: limiter.StrictWindow},
			[]string{"Requests is 1000000001, want 0 to 1000000000 for strict-window"}},
		{"burst of a strict window",
			limiter.Limit{Requests: 1, Window: time.Second, Algorithm: limiter.StrictWindow, Burst: 1},
			[]string{"Burst is 1, want 0 for strict-window"}},
		{"negative burst", limiter.Limit{Requests: 1, Window: time.Second, Algorithm: limiter.TokenBucket, Burst: -1},
			[]string{"Burst is -1, want 0"}},
		{"burst", limiter.Limit{Requests: 1, Window: time.Second, Algorithm: limiter.TokenBucket, Burst: 1_000_000_001},
			[]string{"Burst is 1000000001"}},
		{"burst of a limit of 0", limiter.Limit{Window: time.Second, Algorithm: limiter.TokenBucket, Burst: 5},
			[]string{"Burst is 5, want 0 where Requests is 0"}},
		{"algorithm", limiter.Limit{Requests: 1, Window: time.Second, Algorithm: 5}, []string{"Algorithm is 5"}},
		{
			"bucket of too many milliseconds", limiter.Limit{Requests: 1, Window: 1 << 23 * time.Millisecond,
				Algorithm: limiter.TokenBucket, Burst: 1<<29 + 1},
			[]string{"max(Requests, Burst) x Window in milliseconds is above 2^52 (536870913 x 8388608)"},
		},
		{"all at once", limiter.Limit{Requests: -5, Window: time.Microsecond, Algorithm: 9, Burst: 2},
			[]string{"Algorithm is 9", "Requests is -5", "Window is 1µs", "Burst is 2"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := tc.limit.Validate()
			if err == nil {
				t.Fatalf("Validate of %+v: nil, want %q", tc.limit, tc.faults)
			}
			lines := strings.Split(err.Error(), "\n")
			if len(lines) != len(tc.faults) {
				t.Errorf("got %d faults, want %d:\n%v", len(lines), len(tc.faults), err)
			}
			for i, want := range tc.faults {
				if i < len(lines) && !strings.HasPrefix(lines[i], "limiter: "+want) {
					t.Errorf("fault %d: got %q, want %q", i, lines[i], "limiter: "+want)
				}
			}
		})
	}
}

func TestAlgorithmString(t *testing.T) {
	for algorithm, want := range map[limiter.Algorithm]string{
		limiter.SlidingWindow: "sliding-window",
		limiter.SlidingLog:    "sliding-log",
		limiter.FixedWindow:   "fixed-window",
		limiter.TokenBucket:   "token-bucket",
		limiter.StrictWindow:  "strict-window",
		77:                    "Algorithm(77)",
	} {
		if got := algorithm.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
