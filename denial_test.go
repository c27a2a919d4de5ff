package httplimit_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// handOnly is for rules that only Allow asks.
var handOnly = httplimit.KeyFunc(func(*http.Request) (string, error) { return "", httplimit.ErrSkip })

// TestDenialOfAVerdict: what a handler answers after Allow has the fields of every other refusal.
func TestDenialOfAVerdict(t *testing.T) {
	byHand := func(v httplimit.Verdict) (httplimit.Denial, bool) {
		return httplimit.Denial{
			Status: http.StatusTooManyRequests, RetryAfter: v.RetryAfter, Rules: []httplimit.Verdict{v},
		}, !v.Allowed
	}
	noStatus := func(v httplimit.Verdict) (httplimit.Denial, bool) {
		return httplimit.Denial{RetryAfter: v.RetryAfter, Rules: []httplimit.Verdict{v}}, !v.Allowed
	}
	tests := map[string]struct {
		deny    func(httplimit.Verdict) (httplimit.Denial, bool)
		private bool
		want    []string // names in the answer
	}{
		"Denied":                     {httplimit.Verdict.Denied, false, []string{"login"}},
		"made by hand":               {byHand, false, []string{"login"}},
		"made by hand, no status":    {noStatus, false, []string{"login"}},
		"Denied, private":            {httplimit.Verdict.Denied, true, []string{}},
		"made by hand, private rule": {byHand, true, []string{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{
				{Name: "login", Key: handOnly, Limit: limiter.PerDay(1), Private: tt.private},
			}})
			server := httptest.NewServer(m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				v, err := m.Allow(r.Context(), "login", "alice")
				if err != nil {
					t.Error(err)
				}
				if d, denied := tt.deny(v); denied {
					d.ServeHTTP(w, r)
				}
			})))
			defer server.Close()
			var answer *http.Response
			for range 2 {
				var err error
				if answer, err = http.Get(server.URL); err != nil {
					t.Fatal(err)
				}
				defer answer.Body.Close()
			}
			w := &httptest.ResponseRecorder{Code: answer.StatusCode, HeaderMap: answer.Header, Body: &bytes.Buffer{}}
			if _, err := w.Body.ReadFrom(answer.Body); err != nil {
				t.Fatal(err)
			}
			checkRefusal(t, w, tt.want...)
			if text := w.Body.String() + fmt.Sprint(answer.Header); tt.private && strings.Contains(text, "login") {
				t.Errorf("the answer names a private rule: %s", text)
			}
		})
	}
}

// TestServeHTTPKeepsTheFieldsOfTheMiddleware: no field is written twice, and one that OnDeny has set stays.
func TestServeHTTPKeepsTheFieldsOfTheMiddleware(t *testing.T) {
	for _, own := range []string{"", "120"} {
		m := mustNew(t, httplimit.Config{
			Rules: []httplimit.Rule{ip(limiter.PerDay(1))},
			OnDeny: func(w http.ResponseWriter, r *http.Request, d httplimit.Denial) {
				if own != "" {
					w.Header().Set("Retry-After", own)
				}
				d.ServeHTTP(w, r)
			},
		})
		serve(m, "192.0.2.7:1")
		h := serve(m, "192.0.2.7:1").Header()
		if got := h["Retry-After"]; len(got) != 1 || own != "" && got[0] != own {
			t.Errorf("own Retry-After %q: got %q, want one", own, got)
		}
		if got := h["Cache-Control"]; !slices.Equal(got, []string{"no-store"}) {
			t.Errorf("Cache-Control: got %q, want one no-store", got)
		}
	}
}

func TestDeniedOfWhatIsNoReasonToRefuse(t *testing.T) {
	m := mustNew(t, httplimit.Config{Expose: true, Rules: []httplimit.Rule{
		{Name: "shadow", Key: httplimit.Everyone(), Limit: limiter.PerDay(1), Shadow: true},
		{Name: "wide", Key: httplimit.Everyone(), Limit: limiter.PerDay(1000)},
	}})
	var refuses []bool
	var seen []httplimit.Verdict
	h := m.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		seen = httplimit.Verdicts(r.Context())
	}))
	for range 2 {
		h.ServeHTTP(httptest.NewRecorder(), get())
	}
	direct, err := m.Allow(t.Context(), "shadow")
	if err != nil || seen[0].Allowed {
		t.Fatalf("got %v and the verdicts %v, want the shadow rule to say no", err, seen)
	}
	for _, v := range append(seen, direct) {
		d, denied := v.Denied()
		refuses = append(refuses, denied || d.Status != 0)
	}
	if want := []bool{false, false, false}; !slices.Equal(refuses, want) {
		t.Errorf("refused by the verdicts of shadow, wide and Allow of shadow: got %v, want %v", refuses, want)
	}
}

// TestDeniedOfTheZeroVerdict: a handler that overlooks the error of Allow lets nobody in, and names nothing.
func TestDeniedOfTheZeroVerdict(t *testing.T) {
	v, err := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{ip(limiter.PerDay(1))}}).Allow(t.Context(), "none")
	d, denied := v.Denied()
	if err == nil || !denied {
		t.Fatalf("got %v and denied %v, want an error and a refusal", err, denied)
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, get())
	checkRefusal(t, w)
}

// TestRuleOfADenial: what OnDeny names without an index, also where nothing is to be named.
func TestRuleOfADenial(t *testing.T) {
	rule := func(name string, n int64, private bool) httplimit.Rule {
		return httplimit.Rule{Name: name, Key: httplimit.Everyone(), Limit: limiter.Per(n, 24*time.Hour), Private: private}
	}
	short := rule("short", 1, false)
	short.Limit.Window = time.Minute
	tests := map[string]struct {
		rules []httplimit.Rule
		want  string
		named bool
	}{
		"one":                      {[]httplimit.Rule{rule("a", 1, false)}, "a", true},
		"private only":             {[]httplimit.Rule{rule("p", 1, true)}, "", false},
		"private and another":      {[]httplimit.Rule{rule("p", 1, true), short}, "short", true},
		"the longest wait":         {[]httplimit.Rule{short, rule("day", 1, false)}, "day", true},
		"one of them is violated":  {[]httplimit.Rule{rule("wide", 9, false), short}, "short", true},
		"the first of equal waits": {[]httplimit.Rule{rule("a", 1, false), rule("b", 1, false)}, "a", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			called := false
			m := mustNew(t, httplimit.Config{
				Rules: tt.rules,
				OnDeny: func(_ http.ResponseWriter, _ *http.Request, d httplimit.Denial) {
					called = true
					if v, named := d.Rule(); v.Rule != tt.want || named != tt.named {
						t.Errorf("Rule of %v: got %q, %v, want %q, %v", d, v.Rule, named, tt.want, tt.named)
					}
				},
			})
			serve(m, "192.0.2.7:1")
			serve(m, "192.0.2.7:1")
			if !called {
				t.Error("OnDeny was not called")
			}
		})
	}
}

// secretRule returns the verdict of a Private rule that refuses.
func secretRule(t *testing.T) httplimit.Verdict {
	t.Helper()
	m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{
		{Name: "secret", Key: handOnly, Limit: limiter.PerDay(1), Private: true},
	}})
	var v httplimit.Verdict
	for range 2 {
		var err error
		if v, err = m.Allow(t.Context(), "secret", "alice"); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

func TestDenialPrints(t *testing.T) {
	login := httplimit.Verdict{Rule: "login"}
	tests := map[string]struct {
		d    httplimit.Denial
		want string
		log  string
	}{
		"none": {httplimit.Denial{}, "not refused", `{"status":0,"rules":[],"retry_after":0}`},
		"one rule": {
			httplimit.Denial{Status: 429, RetryAfter: 6300 * time.Millisecond, Rules: []httplimit.Verdict{login}},
			`refused with 429 by "login", retry after 7s`,
			`{"status":429,"rules":["login"],"retry_after":6300000000}`,
		},
		"several rules": {
			httplimit.Denial{Status: 429, RetryAfter: time.Hour, Rules: []httplimit.Verdict{login, {Rule: "a\"b"}}},
			`refused with 429 by "login" and "a\"b", retry after 1h0m0s`,
			`{"status":429,"rules":["login","a\"b"],"retry_after":3600000000000}`,
		},
		"never": {
			httplimit.Denial{Status: 429, RetryAfter: limiter.Never, Rules: []httplimit.Verdict{login}},
			`refused with 429 by "login", can never pass`,
			`{"status":429,"rules":["login"],"retry_after":"never"}`,
		},
		"almost never": {
			httplimit.Denial{Status: 429, RetryAfter: math.MaxInt64 - 1},
			`refused with 429, retry after 2562047h47m16s`,
			`{"status":429,"rules":[],"retry_after":9223372036854775806}`,
		},
		"no wait": {
			httplimit.Denial{Status: 503}, `refused with 503, retry after 1s`, `{"status":503,"rules":[],"retry_after":0}`,
		},
		"a private rule, by hand": {
			httplimit.Denial{Status: 429, RetryAfter: time.Second, Rules: []httplimit.Verdict{secretRule(t), login}},
			`refused with 429 by "login", retry after 1s`,
			`{"status":429,"rules":["login"],"retry_after":1000000000}`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for verb, got := range map[string]string{
				"%v": fmt.Sprintf("%v", tt.d), "%+v": fmt.Sprintf("%+v", tt.d), "String": tt.d.String(),
			} {
				if got != tt.want {
					t.Errorf("%s: got %s, want %s", verb, got, tt.want)
				}
			}
			var log bytes.Buffer
			slog.New(slog.NewJSONHandler(&log, nil)).Info("", "denial", tt.d)
			var line struct{ Denial json.RawMessage }
			if err := json.Unmarshal(log.Bytes(), &line); err != nil || string(line.Denial) != tt.log {
				t.Errorf("slog: got %s, %v, want %s", line.Denial, err, tt.log)
			}
		})
	}
}

// TestDenialShowsNoErrorOfTheStore: neither printed nor logged nor served.
func TestDenialShowsNoErrorOfTheStore(t *testing.T) {
	store := &scripted{}
	store.fail(errors.New("dial tcp 10.1.2.3:6379: secret"))
	var texts []string
	m := mustNew(t, httplimit.Config{
		Store: store, Rules: []httplimit.Rule{failingRule("closed", httplimit.FailClosed, 1)},
		OnDeny: func(w http.ResponseWriter, r *http.Request, d httplimit.Denial) {
			texts = append(texts, d.String(), d.LogValue().String())
			d.ServeHTTP(w, r)
		},
	})
	texts = append(texts, serve(m, "192.0.2.7:1").Body.String())
	if got := strings.Join(texts, "\n"); strings.Contains(got, "secret") || strings.Contains(got, "10.1.2.3") {
		t.Errorf("the error of the store shows: %s", got)
	}
	if got, want := texts[0], `refused with 503 by "closed", retry after 1s`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestFieldsOfADenial(t *testing.T) {
	for wait, want := range map[time.Duration]string{
		0: "1", time.Millisecond: "1", 6300 * time.Millisecond: "7", 1000 * time.Hour: "2147483", limiter.Never: "",
	} {
		got := http.Header{}
		for name, value := range (httplimit.Denial{Status: 429, RetryAfter: wait}).Fields() {
			got.Set(name, value)
		}
		if got.Get("Retry-After") != want || got.Get("Cache-Control") != "no-store" {
			t.Errorf("%v: got %v, want Retry-After %q and Cache-Control", wait, got, want)
		}
	}
}

// TestSetFields: what another layer has set stays, and a long body that nobody reads ends the connection.
func TestSetFields(t *testing.T) {
	tests := map[string]struct {
		body   int64
		header http.Header
		want   http.Header
	}{
		"none set": {0, http.Header{}, http.Header{"Retry-After": {"7"}, "Cache-Control": {"no-store"}}},
		"set": {
			0, http.Header{"Retry-After": {"9"}, "Cache-Control": {"private"}},
			http.Header{"Retry-After": {"9"}, "Cache-Control": {"private"}},
		},
		"a long body": {
			1 << 20, http.Header{},
			http.Header{"Retry-After": {"7"}, "Cache-Control": {"no-store"}, "Connection": {"close"}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := get()
			r.ContentLength = tt.body
			httplimit.Denial{Status: 429, RetryAfter: 7 * time.Second}.SetFields(tt.header, r)
			if got, want := fmt.Sprint(tt.header), fmt.Sprint(tt.want); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}
