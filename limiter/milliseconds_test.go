package limiter_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

func TestMillisecondsInJSON(t *testing.T) {
	const year = 366 * 24 * time.Hour
	tests := map[string]struct {
		d    time.Duration
		want string
		back time.Duration // what it is when it was read again
	}{
		"none":                 {0, "0", 0},
		"whole":                {1500 * time.Millisecond, "1500", 1500 * time.Millisecond},
		"rounded up":           {time.Millisecond + 1, "2", 2 * time.Millisecond},
		"a nanosecond":         {1, "1", time.Millisecond},
		"below 0":              {-time.Second, "0", 0},
		"two of the longest":   {2 * year, "63244800000", 2 * year},
		"never":                {limiter.Never, "null", limiter.Never},
		"the longest but that": {limiter.Never - 1, "9223372036854", 9223372036854 * time.Millisecond},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := json.Marshal(limiter.Milliseconds(tt.d))
			if err != nil || string(got) != tt.want {
				t.Errorf("Marshal: got %s, %v, want %s", got, err, tt.want)
			}
			var back limiter.Milliseconds
			if err := json.Unmarshal(got, &back); err != nil || time.Duration(back) != tt.back {
				t.Errorf("Unmarshal: got %v, %v, want %v", time.Duration(back), err, tt.back)
			}
		})
	}
}

func TestMillisecondsRefusesWhatIsNone(t *testing.T) {
	for _, text := range []string{"-1", "1.5", `"1s"`, "9223372036855", "true", "{}"} {
		d := limiter.Milliseconds(7)
		if err := json.Unmarshal([]byte(text), &d); err == nil || d != 7 {
			t.Errorf("%s: got %v, %v, want an error, and nothing changed", text, time.Duration(d), err)
		}
	}
}

// Stats can be read again by a program that was sent them.
func TestStatsRoundTrip(t *testing.T) {
	at := time.Date(2026, 11, 22, 12, 0, 0, int(time.Millisecond), time.UTC)
	for name, want := range map[string]limiter.Stats{
		"refused": {
			Limit: limiter.PerMinute(5), At: at, WindowStart: at.Truncate(time.Minute),
			WindowEnd: at.Truncate(time.Minute).Add(time.Minute), Current: 5, Previous: 3, PreviousWeight: 0.25, Estimate: 5,
			RetryAfter: 17 * time.Second, ResetAfter: 77 * time.Second,
		},
		"never": {Limit: limiter.PerDay(0), At: at, RetryAfter: limiter.Never},
		"allowed": {
			Limit: limiter.Limit{Requests: math.MaxInt32 / 8, Window: time.Second, Algorithm: limiter.TokenBucket, Burst: 3},
			At:    at, Allowed: true, Remaining: 3,
		},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			var got limiter.Stats
			if err := json.Unmarshal(text, &got); err != nil || got != want {
				t.Errorf("read %s:\n got %+v, %v\nwant %+v", text, got, err, want)
			}
		})
	}
}
