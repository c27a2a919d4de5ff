package httplimit_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// TestProblemTellsLimits: what follows violated-policies in the body of a refusal.
func TestProblemTellsLimits(t *testing.T) {
	rule := func(name, limit string) httplimit.Rule {
		l, err := limiter.ParseLimit(limit)
		if err != nil {
			t.Fatal(err)
		}
		return httplimit.Rule{Name: name, Key: httplimit.Everyone(), Limit: l}
	}
	with := func(r httplimit.Rule, change func(*httplimit.Rule)) httplimit.Rule { change(&r); return r }
	private := func(r *httplimit.Rule) { r.Private = true }
	costly := func(r *httplimit.Rule) { r.Cost = func(*http.Request) (int64, error) { return 9, nil } }
	for name, c := range map[string]struct {
		rules   []httplimit.Rule
		headers httplimit.HeaderStyle
		down    bool
		want    string // WAIT is Retry-After
	}{
		"one": {
			rules: []httplimit.Rule{rule("a", "0/15m")}, want: `["a"],"limits":[{"policy":"a","quota":0,"window":900}]`,
		},
		"name with quotes": {
			rules: []httplimit.Rule{rule(`a"b`, "0/m")},
			want:  `["a\"b"],"limits":[{"policy":"a\"b","quota":0,"window":60}]`,
		},
		"window below a second": {
			rules: []httplimit.Rule{rule("a", "0/300ms")}, want: `["a"],"limits":[{"policy":"a","quota":0,"window":1}]`,
		},
		"several": {
			rules: []httplimit.Rule{rule("a", "0/m"), rule("passes", "5/m"), rule("b", "0/h")},
			want: `["a","b"],"limits":[{"policy":"a","quota":0,"window":60},` +
				`{"policy":"b","quota":0,"window":3600}]`,
		},
		"with a wait": {
			rules: []httplimit.Rule{with(rule("a", "5/h token-bucket burst=10"), func(r *httplimit.Rule) {
				r.Cost = func(r *http.Request) (int64, error) {
					return map[string]int64{"/second": 6}[r.URL.Path] + 4, nil
				}
			})},
			want: `["a"],"limits":[{"policy":"a","quota":5,"window":3600}],"retry_after":WAIT`,
		},
		"dearer than the limit": {
			rules: []httplimit.Rule{with(rule("a", "5/m"), costly)},
			want:  `["a"],"limits":[{"policy":"a","quota":5,"window":60}]`,
		},
		"by a LimitFunc": {
			rules: []httplimit.Rule{with(rule("a", "5/m"), func(r *httplimit.Rule) {
				r.LimitFunc = func(*http.Request) (limiter.Limit, error) { return limiter.PerHour(0), nil }
			})},
			want: `["a"],"limits":[{"policy":"a","quota":0,"window":3600}]`,
		},
		"private": {rules: []httplimit.Rule{with(rule("a", "0/m"), private)}, want: `[]`},
		"private and another": {
			rules: []httplimit.Rule{with(rule("a", "0/m"), private), rule("b", "0/m")},
			want:  `["b"],"limits":[{"policy":"b","quota":0,"window":60}]`,
		},
		"at once": {
			rules: []httplimit.Rule{with(rule("a", "0/m"), func(r *httplimit.Rule) { r.InFlight = true })},
			want:  `["a"],"limits":[{"policy":"a","quota":0,"quota_unit":"concurrent-requests"}]`,
		},
		"NoHeaders": {rules: []httplimit.Rule{rule("a", "0/m")}, headers: httplimit.NoHeaders, want: `["a"]`},
		"NoHeaders, several": {rules: []httplimit.Rule{rule("a", "0/m"), rule("b", "0/m")}, headers: httplimit.NoHeaders,
			want: `["a","b"]`},
		"the store is away": {
			rules: []httplimit.Rule{with(rule("a", "5/m"), func(r *httplimit.Rule) { r.Failure = httplimit.FailClosed })},
			down:  true, want: `["a"],"retry_after":WAIT`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := httplimit.Config{Rules: c.rules, Headers: c.headers}
			if c.down {
				cfg.Store = &scripted{err: errors.New("away")}
			}
			m := mustNew(t, cfg)
			h := m.Handler(http.NotFoundHandler())
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/first", nil))
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("GET", "/second", nil))
			_, got, _ := strings.Cut(w.Body.String(), `"violated-policies":`)
			if want := strings.Replace(c.want, "WAIT", w.Header().Get("Retry-After"), 1) + "}"; got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			checkProblem(t, w, map[string]any{"status": float64(w.Code)})
		})
	}
}

// TestDenialOfAllow: the refusal that a handler makes of Allow's verdict tells the same.
func TestDenialOfAllow(t *testing.T) {
	for style, limits := range map[httplimit.HeaderStyle]string{
		httplimit.RateLimitFields: `,"limits":[{"policy":"ip","quota":0,"window":86400}]`,
		httplimit.NoHeaders:       "",
	} {
		m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{ip(limiter.PerDay(0))}, Headers: style})
		v, err := m.Allow(t.Context(), "ip", "192.0.2.1")
		denial, refused := v.Denied()
		if err != nil || !refused {
			t.Fatalf("got %v, %v, want a refusal", v, err)
		}
		text, err := denial.MarshalJSON()
		if want := `"violated-policies":["ip"]` + limits + "}"; err != nil || !strings.HasSuffix(string(text), want) {
			t.Errorf("got %s, %v, want it to end with %s", text, err, want)
		}
		denial.RetryAfter = 1500 * time.Millisecond
		if text, _ = denial.MarshalJSON(); !strings.HasSuffix(string(text), `,"retry_after":2}`) {
			t.Errorf("got %s, want a wait of 2 s", text)
		}
	}
}
