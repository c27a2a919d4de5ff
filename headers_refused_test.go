package httplimit_test

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// TestWaitsAreToldInAllStylesAlike: from one second to the longest wait that JavaScript's setTimeout takes, as in
// Retry-After.
func TestWaitsAreToldInAllStylesAlike(t *testing.T) {
	now := time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC).Unix() // where synctest begins
	styles := map[string]struct {
		style httplimit.HeaderStyle
		field string
		value func(seconds int64) string
	}{
		"RateLimitFields": {
			httplimit.RateLimitFields,
			"Ratelimit",
			func(s int64) string { return fmt.Sprintf(`"slow";r=0;t=%d`, s) },
		},
		"RateLimitDraft07": {
			httplimit.RateLimitDraft07,
			"Ratelimit",
			func(s int64) string { return fmt.Sprintf("limit=1, remaining=0, reset=%d", s) },
		},
		"RateLimitDraft06": {
			httplimit.RateLimitDraft06,
			"Ratelimit-Reset",
			func(s int64) string { return strconv.FormatInt(s, 10) },
		},
		"XRateLimitDelta": {
			httplimit.XRateLimitDelta,
			"X-Ratelimit-Reset",
			func(s int64) string { return strconv.FormatInt(s, 10) },
		},
		"XRateLimitEpoch": {
			httplimit.XRateLimitEpoch,
			"X-Ratelimit-Reset",
			func(s int64) string { return strconv.FormatInt(now+s, 10) },
		},
	}
	waits := map[time.Duration]int64{
		0:                                     1,
		1500 * time.Millisecond:               2,
		2147483 * time.Second:                 2147483,
		2147483*time.Second + time.Nanosecond: 2147483,
		60 * 24 * time.Hour:                   2147483,
	}
	for name, tt := range styles {
		for wait, want := range waits {
			t.Run(fmt.Sprintf("%s/%v", name, wait), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := &scripted{answer: func(c *limiter.Charge) {
						c.Decision = limiter.Decision{RetryAfter: wait, ResetAfter: 90 * 24 * time.Hour}
					}}
					m := mustNew(t, httplimit.Config{Store: store, Headers: tt.style, Rules: []httplimit.Rule{
						{Name: "slow", Key: httplimit.Everyone(), Limit: limiter.Per(1, 90*24*time.Hour)},
					}})
					w := serve(m, "192.0.2.7:1")
					if got := w.Header().Get(tt.field); got != tt.value(want) {
						t.Errorf("%s: got %q, want %q", tt.field, got, tt.value(want))
					}
					if got := w.Header().Get("Retry-After"); got != strconv.FormatInt(want, 10) {
						t.Errorf("Retry-After: got %q, want %d", got, want)
					}
				})
			})
		}
	}
}

// TestOlderStylesTellOfTheLongestWait: of the violated rules that with the longest wait is told, neither the first nor
// the last of them, nor the one with the least left, nor one that was not violated.
func TestOlderStylesTellOfTheLongestWait(t *testing.T) {
	decisions := map[string]limiter.Decision{
		"/empty":   {Remaining: 0, RetryAfter: 20 * time.Second, ResetAfter: 80 * time.Second},
		"/longest": {Remaining: 5, RetryAfter: 40 * time.Second, ResetAfter: 70 * time.Second},
		"/short":   {Remaining: 5, RetryAfter: 10 * time.Second, ResetAfter: 90 * time.Second},
		"/calm":    {Allowed: true, Remaining: 0, ResetAfter: 99 * time.Second},
	}
	store := &scripted{answer: func(c *limiter.Charge) { c.Decision = decisions[c.Scope] }}
	tests := map[string]struct {
		style httplimit.HeaderStyle
		want  map[string]string
	}{
		"draft 07": {httplimit.RateLimitDraft07, map[string]string{"Ratelimit": "limit=30, remaining=5, reset=40"}},
		"draft 06": {
			httplimit.RateLimitDraft06,
			map[string]string{"Ratelimit-Limit": "30", "Ratelimit-Remaining": "5", "Ratelimit-Reset": "40"},
		},
		"X": {
			httplimit.XRateLimitDelta,
			map[string]string{"X-Ratelimit-Limit": "30", "X-Ratelimit-Remaining": "5", "X-Ratelimit-Reset": "40"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := mustNew(t, httplimit.Config{Store: store, Headers: tt.style, Rules: []httplimit.Rule{
				{Name: "empty", Key: httplimit.Everyone(), Limit: limiter.PerDay(20)},
				{Name: "longest", Key: httplimit.Everyone(), Limit: limiter.PerDay(30)},
				{Name: "short", Key: httplimit.Everyone(), Limit: limiter.PerDay(40)},
				{Name: "calm", Key: httplimit.Everyone(), Limit: limiter.PerDay(10)},
			}})
			w := serve(m, "192.0.2.7:1")
			if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "40" {
				t.Errorf("got %d with Retry-After %q, want 429 with 40", w.Code, w.Header().Get("Retry-After"))
			}
			for field, want := range tt.want {
				if got := w.Header().Get(field); got != want {
					t.Errorf("%s: got %q, want %q", field, got, want)
				}
			}
		})
	}
}
