package httplimit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/storekit"
)

func TestPolicyDecidesWhileTheStoreIsDown(t *testing.T) {
	local, open, closed := httplimit.FailLocal, httplimit.FailOpen, httplimit.FailClosed
	tests := map[string]struct {
		rules     []httplimit.Rule
		instances int
		want      []int // statuses of requests in turn
		policy    string
	}{
		"local counts here": {[]httplimit.Rule{failingRule("r", local, 2)}, 0, []int{200, 200, 429}, `"r";q=2;w=86400`},
		"local counts its share, rounded up, and tells the whole limit": {[]httplimit.Rule{failingRule("r", local, 5)}, 3,
			[]int{200, 200, 429}, `"r";q=5;w=86400`},
		"open lets pass and tells nothing": {[]httplimit.Rule{failingRule("r", open, 1)}, 0, []int{200, 200, 200}, ""},
		"closed answers 503":               {[]httplimit.Rule{failingRule("r", closed, 9)}, 0, []int{503, 503}, ""},
		"rule by rule": {[]httplimit.Rule{failingRule("a", open, 1), failingRule("b", local, 2)}, 0,
			[]int{200, 200, 429}, `"b";q=2;w=86400`},
		"one closed rule closes, and charges nothing locally": {
			[]httplimit.Rule{failingRule("a", local, 1), failingRule("b", closed, 9)},
			0,
			[]int{503, 503, 503},
			"",
		},
		"a shadow rule closes nothing": {
			[]httplimit.Rule{{Name: "r", Key: httplimit.ClientIP(), Limit: limiter.PerDay(1), Failure: closed, Shadow: true}},
			0,
			[]int{200, 200},
			"",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := mustNew(t, httplimit.Config{Store: &scripted{err: errDown}, Rules: tt.rules, Instances: tt.instances})
			for i, want := range tt.want {
				w := serve(m, "192.0.2.7:1")
				if w.Code != want {
					t.Errorf("request %d: got %d, want %d", i+1, w.Code, want)
				}
				if got := w.Header().Get("RateLimit-Policy"); got != tt.policy {
					t.Errorf("request %d: RateLimit-Policy: got %q, want %q", i+1, got, tt.policy)
				}
				if text := fmt.Sprint(w.Header(), w.Body); strings.Contains(text, "10.1.2.3") || strings.Contains(text, "refused") {
					t.Errorf("request %d shows the store's error: %s", i+1, text)
				}
			}
		})
	}
}

func TestUnavailableAnswer(t *testing.T) {
	tests := map[string]struct {
		err  error
		want string
	}{
		"nothing known":   {errDown, "1"},
		"next probe soon": {&storekit.UnavailableError{RetryAfter: time.Millisecond, Err: errDown}, "1"},
		"next probe in 2 s": {
			fmt.Errorf("redisstore: %w", &storekit.UnavailableError{RetryAfter: 1900 * time.Millisecond, Err: errDown}),
			"2",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := mustNew(t, httplimit.Config{Store: &scripted{err: tt.err}, Rules: []httplimit.Rule{
				failingRule("login", httplimit.FailClosed, 5), failingRule("api", httplimit.FailOpen, 5),
				{Name: "hidden", Key: httplimit.Everyone(), Limit: limiter.PerDay(1), Failure: httplimit.FailClosed, Private: true},
			}})
			w := serve(m, "192.0.2.7:1")
			if w.Code != http.StatusServiceUnavailable {
				t.Fatalf("got %d, want 503", w.Code)
			}
			if got := w.Header().Get("Retry-After"); got != tt.want {
				t.Errorf("Retry-After: got %q, want %q", got, tt.want)
			}
			if got := w.Header().Get("RateLimit"); got != "" {
				t.Errorf("RateLimit: got %q, want none", got)
			}
			checkProblem(t, w, map[string]any{
				"type":   "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
				"status": 503, "violated-policies": []string{"login"},
			})
		})
	}
}

func TestLocalShareTakesACostThatTheWholeLimitHasRoomFor(t *testing.T) {
	bucket := limiter.Limit{Requests: 10, Window: time.Hour, Algorithm: limiter.TokenBucket, Burst: 40}
	tests := map[string]struct {
		limit limiter.Limit
		cost  int64
		want  int
	}{
		"cost above the share":          {limiter.PerDay(100), 60, 200},
		"cost above the limit":          {limiter.PerDay(100), 101, 429},
		"bucket: cost above the share":  {bucket, 30, 200},
		"bucket: cost above the bucket": {bucket, 41, 429},
		"a log keeps its algorithm": {
			limiter.Limit{Requests: 100, Window: time.Hour, Algorithm: limiter.SlidingLog},
			100,
			200,
		},
		"a fixed window too": {
			limiter.Limit{Requests: 100, Window: time.Hour, Algorithm: limiter.FixedWindow},
			100,
			200,
		},
		"a strict window too": {
			limiter.Limit{Requests: 100, Window: time.Hour, Algorithm: limiter.StrictWindow},
			100,
			200,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := mustNew(t, httplimit.Config{Store: &scripted{err: errDown}, Instances: 10, Rules: []httplimit.Rule{
				{
					Name:  "r",
					Key:   httplimit.Everyone(),
					Limit: tt.limit,
					Cost:  func(*http.Request) (int64, error) { return tt.cost, nil },
				},
			}})
			if w := serve(m, "192.0.2.7:1"); w.Code != tt.want {
				t.Errorf("a cost of %d under %v: got %d, want %d", tt.cost, tt.limit, w.Code, tt.want)
			}
		})
	}
}

func TestOneLineAndHealthPerChangeOfState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		store := &scripted{}
		m := mustNew(
			t,
			httplimit.Config{
				Store:  store,
				Logger: slog.New(slog.NewTextHandler(&log, nil)),
				Rules:  []httplimit.Rule{failingRule("api", httplimit.FailOpen, 5)},
			},
		)
		lines := func() int { return strings.Count(log.String(), "\n") }

		serve(m, "192.0.2.7:1")
		if h := m.Health(); len(h) != 0 || lines() != 0 {
			t.Fatalf("while all is well: health %v, log %q", h, log.String())
		}
		store.fail(errDown)
		for range 5 {
			serve(m, "192.0.2.7:1")
		}
		h := m.Health()
		if len(h) != 1 || h[0].Rule != "api" || h[0].Policy != httplimit.FailOpen || !errors.Is(h[0].Err, errDown) {
			t.Errorf("while the store is down: health %+v", h)
		}
		if got := log.String(); lines() != 1 || !strings.Contains(got, "rule=api policy=fail-open") ||
			!strings.Contains(got, "connection refused") {
			t.Errorf("log: got %q, want one line with rule, policy and cause", got)
		}

		// One success between failures is no change of state yet.
		store.fail(nil)
		serve(m, "192.0.2.7:1")
		store.fail(errDown)
		serve(m, "192.0.2.7:1")
		if lines() != 1 {
			t.Errorf("a success between failures: log %q, want no further line", log.String())
		}

		// Without requests nothing is known any more, and nobody is kept out for what was.
		time.Sleep(10 * time.Second)
		if h := m.Health(); len(h) != 0 {
			t.Errorf("ten seconds after the last failure: health %v, want none", h)
		}

		store.fail(nil)
		serve(m, "192.0.2.7:1")
		if h := m.Health(); len(h) != 0 || lines() != 2 || !strings.Contains(log.String(), "decides again") {
			t.Errorf("after a second without failure: health %v, log %q", h, log.String())
		}
	})
}

func TestDirectCallsFollowThePolicy(t *testing.T) {
	store := &scripted{err: errDown}
	m := mustNew(t, httplimit.Config{Store: store, Rules: []httplimit.Rule{
		failingRule(
			"local",
			httplimit.FailLocal,
			1,
		), failingRule("open", httplimit.FailOpen, 1), failingRule("closed", httplimit.FailClosed, 1),
	}})
	ctx := context.Background()
	for i, want := range []bool{true, false} {
		if v, err := m.Allow(ctx, "local", "192.0.2.7"); err != nil || v.Allowed != want || v.Limit != limiter.PerDay(1) {
			t.Errorf("local, call %d: got %+v, %v, want allowed %v", i+1, v, err, want)
		}
	}
	for range 3 {
		if v, err := m.Allow(ctx, "open", "192.0.2.7"); err != nil || !v.Allowed {
			t.Errorf("open: got %+v, %v, want allowed", v, err)
		}
	}
	if v, err := m.Allow(ctx, "closed", "192.0.2.7"); !errors.Is(err, errDown) {
		t.Errorf("closed: got %+v, %v, want the store's error", v, err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if v, err := m.Allow(ended, "open", "192.0.2.7"); err != nil || !v.Allowed {
		t.Errorf("open, an ended context: got %+v, %v, want allowed: it is the policy that decides", v, err)
	}
	if v, err := m.Allow(ended, "closed", "192.0.2.7"); !errors.Is(err, errDown) {
		t.Errorf("closed, an ended context: got %+v, %v, want the store's error", v, err)
	}
}
