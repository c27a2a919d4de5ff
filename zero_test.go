package httplimit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
)

// socket returns a function that sends a request of a tenant, from a client behind a proxy, through a real server.
func socket(t *testing.T, m *httplimit.Middleware) func(tenant, client string) *http.Response {
	t.Helper()
	server := httptest.NewServer(m.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "ok")
	})))
	t.Cleanup(server.Close)
	return func(tenant, client string) *http.Response {
		t.Helper()
		r, err := http.NewRequest(http.MethodGet, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Tenant", tenant)
		r.Header.Set("X-Forwarded-For", client)
		answer, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = answer.Body.Close() })
		return answer
	}
}

// byPlan is a rule of 3 a minute, of which the tenants in plans have others.
func byPlan(plans map[string]limiter.Limit) httplimit.Rule {
	return httplimit.Rule{
		Name: "api", Key: httplimit.Header("X-Tenant"), Limit: limiter.Per(3, time.Hour),
		LimitFunc: func(r *http.Request) (limiter.Limit, error) {
			if plan, ok := plans[r.Header.Get("X-Tenant")]; ok {
				return plan, nil
			}
			return limiter.Per(3, time.Hour), nil
		},
	}
}

func TestSuspendedTenantIsRefused(t *testing.T) {
	var log bytes.Buffer
	m := mustNew(t, httplimit.Config{
		Rules:  []httplimit.Rule{byPlan(map[string]limiter.Limit{"suspended": limiter.PerMinute(0)})},
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	send := socket(t, m)
	for i := range 5 {
		answer := send("suspended", "")
		if answer.StatusCode != http.StatusTooManyRequests {
			t.Fatalf("request %d of a suspended tenant: got %d, want 429", i, answer.StatusCode)
		}
		for name, want := range map[string]string{
			"RateLimit-Policy": `"api";q=0;w=60`, "RateLimit": `"api";r=0`, "Retry-After": "", "Cache-Control": "no-store",
			"Content-Type": "application/problem+json",
		} {
			if got := answer.Header.Get(name); got != want {
				t.Errorf("%s: got %q, want %q", name, got, want)
			}
		}
		body, err := io.ReadAll(answer.Body)
		if err != nil || !strings.Contains(string(body), `"violated-policies":["api"]`) {
			t.Errorf("body: got %s, %v, want the rule named", body, err)
		}
	}
	for i, want := range []int{200, 200, 200, 429} {
		if answer := send("other", ""); answer.StatusCode != want {
			t.Errorf("request %d of another tenant: got %d, want %d", i, answer.StatusCode, want)
		}
	}
	if log.Len() > 0 {
		t.Errorf("the log has %s, want nothing: it is meant", &log)
	}
}

// What a tenant has spent before it was suspended it has spent when it is let in again.
func TestSuspendedTenantComesBack(t *testing.T) {
	plans := map[string]limiter.Limit{}
	send := socket(t, mustNew(t, httplimit.Config{Rules: []httplimit.Rule{byPlan(plans)}}))
	send("tenant", "")
	send("tenant", "")
	plans["tenant"] = limiter.Per(0, time.Hour)
	for range 5 {
		if answer := send("tenant", ""); answer.StatusCode != http.StatusTooManyRequests {
			t.Errorf("suspended: got %d, want 429", answer.StatusCode)
		}
	}
	delete(plans, "tenant")
	for i, want := range []int{200, 429} {
		if answer := send("tenant", ""); answer.StatusCode != want {
			t.Errorf("request %d after coming back: got %d, want %d", i, answer.StatusCode, want)
		}
	}
}

func TestDenyList(t *testing.T) {
	client := httplimit.ClientIPFrom(httplimit.ClientIPConfig{Header: "X-Forwarded-For", TrustedHops: 1})
	m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{
		{Name: "banned", Key: client, Limit: limiter.PerMinute(0), Private: true,
			When: httplimit.OnlyFrom(client, netip.MustParsePrefix("198.51.100.0/24"))},
		{Name: "all", Key: client, Limit: limiter.Per(2, time.Hour)},
	}})
	send := socket(t, m)
	for _, tt := range []struct {
		client string
		want   int
	}{
		{"198.51.100.7", 429}, {"198.51.100.7", 429}, {"198.51.100.7", 429}, {"192.0.2.1, 198.51.100.8", 429},
		{"192.0.2.1", 200}, {"198.51.100.9, 192.0.2.1", 200}, {"192.0.2.1", 429},
	} {
		answer := send("", tt.client)
		if answer.StatusCode != tt.want {
			t.Errorf("client %s: got %d, want %d", tt.client, answer.StatusCode, tt.want)
		}
		if got := fmt.Sprint(answer.Header); strings.Contains(got, "banned") {
			t.Errorf("client %s: got %s, want the private rule not named", tt.client, got)
		}
	}
	// A refusal by the list spends nothing of the other rule.
	v, err := m.Peek(t.Context(), "all", "198.51.100.7")
	if err != nil || v.Remaining != 2 {
		t.Errorf("after three refusals by the list: got %+v, %v, want 2 remaining", v.Decision, err)
	}
}

func TestFieldsOfALimitOfZero(t *testing.T) {
	now := time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC).Unix() // where synctest begins
	epoch := fmt.Sprint(now + 90)
	for name, tt := range map[string]struct {
		style httplimit.HeaderStyle
		want  map[string]string
	}{
		"RateLimitFields": {httplimit.RateLimitFields,
			map[string]string{"Ratelimit-Policy": `"closed";q=0;w=90, "open";q=5;w=90`, "Ratelimit": `"closed";r=0`}},
		"RateLimitDraft07": {httplimit.RateLimitDraft07,
			map[string]string{"Ratelimit-Policy": "0;w=90, 5;w=90", "Ratelimit": "limit=0, remaining=0, reset=90"}},
		"RateLimitDraft06": {httplimit.RateLimitDraft06, map[string]string{"Ratelimit-Policy": "0;w=90, 5;w=90",
			"Ratelimit-Limit": "0", "Ratelimit-Remaining": "0", "Ratelimit-Reset": "90"}},
		"XRateLimitEpoch": {httplimit.XRateLimitEpoch, map[string]string{
			"X-Ratelimit-Limit": "0", "X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": epoch}},
		"XRateLimitDelta": {httplimit.XRateLimitDelta, map[string]string{
			"X-Ratelimit-Limit": "0", "X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": "90"}},
		"NoHeaders": {httplimit.NoHeaders, map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := mustNew(t, httplimit.Config{Headers: tt.style, Rules: []httplimit.Rule{
					{Name: "closed", Key: httplimit.Everyone(), Limit: limiter.Per(0, 90*time.Second)},
					{Name: "open", Key: httplimit.Everyone(), Limit: limiter.Per(5, 90*time.Second)},
				}})
				w := serve(m, "192.0.2.7:1")
				if w.Code != http.StatusTooManyRequests {
					t.Fatalf("got %d, want 429", w.Code)
				}
				for field, values := range w.Header() {
					if field == "Content-Type" || field == "Cache-Control" {
						continue
					}
					if want, ok := tt.want[field]; !ok || len(values) != 1 || values[0] != want {
						t.Errorf("%s: got %q, want %q", field, values, want)
					}
					delete(tt.want, field)
				}
				if len(tt.want) > 0 {
					t.Errorf("missing: %v", tt.want)
				}
			})
		})
	}
}

// Whatever the store would say, it is refused: so it is while the store is away too.
func TestPoliciesDoNotOpenALimitOfZero(t *testing.T) {
	local, open, closed := httplimit.FailLocal, httplimit.FailOpen, httplimit.FailClosed
	shadow := failingRule("shadow", open, 0)
	shadow.Shadow = true
	for name, tt := range map[string]struct {
		rules  []httplimit.Rule
		want   int
		policy string
	}{
		"local":                 {[]httplimit.Rule{failingRule("zero", local, 0)}, 429, `"zero";q=0;w=86400`},
		"open":                  {[]httplimit.Rule{failingRule("zero", open, 0)}, 429, `"zero";q=0;w=86400`},
		"closed":                {[]httplimit.Rule{failingRule("zero", closed, 0)}, 429, `"zero";q=0;w=86400`},
		"beside an open rule":   {[]httplimit.Rule{failingRule("a", open, 5), failingRule("zero", open, 0)}, 429, ""},
		"beside a local rule":   {[]httplimit.Rule{failingRule("a", local, 5), failingRule("zero", closed, 0)}, 429, ""},
		"beside a closed rule":  {[]httplimit.Rule{failingRule("a", closed, 5), failingRule("zero", local, 0)}, 429, ""},
		"a shadow rule":         {[]httplimit.Rule{shadow}, 200, ""},
		"shadow and closed":     {[]httplimit.Rule{shadow, failingRule("a", closed, 5)}, 503, ""},
		"shadow beside an open": {[]httplimit.Rule{shadow, failingRule("a", open, 5)}, 200, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := mustNew(t, httplimit.Config{Store: &scripted{err: errDown}, Rules: tt.rules, Instances: 4})
			for range 3 {
				w := serve(m, "192.0.2.7:1")
				if w.Code != tt.want {
					t.Fatalf("got %d, want %d", w.Code, tt.want)
				}
				if got := w.Header().Get("RateLimit-Policy"); tt.policy != "" && got != tt.policy {
					t.Errorf("RateLimit-Policy: got %q, want %q", got, tt.policy)
				}
				if got := w.Header().Get("Retry-After"); tt.want == 429 && got != "" {
					t.Errorf("Retry-After: got %q, want none", got)
				}
				checkProblem429(t, w, tt.want)
			}
		})
	}
}

// checkProblem429 checks that a refusal by the rule "zero" names that rule alone.
func checkProblem429(t *testing.T, w *httptest.ResponseRecorder, status int) {
	t.Helper()
	if status != http.StatusTooManyRequests {
		return
	}
	checkProblem(t, w, map[string]any{"status": 429, "violated-policies": []any{"zero"}})
}

// What cannot be counted can be refused all the same; what is no limit is none.
func TestLimitOfZeroFromALimitFunc(t *testing.T) {
	log := limiter.Limit{Window: time.Minute, Algorithm: limiter.SlidingLog}
	someLogs := log
	someLogs.Requests = 5
	for name, tt := range map[string]struct {
		limit limiter.Limit
		want  int
		logs  string
	}{
		"0 a minute":                   {limiter.PerMinute(0), 429, ""},
		"0 an hour":                    {limiter.PerHour(0), 429, ""},
		"0 in one more window":         {limiter.Per(0, 77*time.Minute), 429, ""},
		"0 of a foreign algorithm":     {log, 429, ""},
		"the zero Limit":               {limiter.Limit{}, 200, "Window is 0s"},
		"below 0":                      {limiter.PerMinute(-1), 200, "Requests is -1"},
		"0 with a burst":               {limiter.Limit{Window: time.Minute, Burst: 3}, 200, "Burst is 3"},
		"a foreign algorithm, above 0": {someLogs, 200, "logs"},
	} {
		t.Run(name, func(t *testing.T) {
			store, err := memstore.New(memstore.Config{})
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			limit := limiter.PerMinute(1000)
			m := mustNew(t, httplimit.Config{
				Store: withoutLogs{store}, Logger: slog.New(slog.NewTextHandler(&out, nil)),
				Rules: []httplimit.Rule{{Name: "r", Key: httplimit.Everyone(), Limit: limiter.PerMinute(1000),
					LimitFunc: func(*http.Request) (limiter.Limit, error) { return limit, nil }}},
			})
			for i := range 100 { // as many windows as the rule may have
				limit = limiter.Per(1000, time.Hour+time.Duration(i)*time.Second)
				serve(m, "192.0.2.7:1")
			}
			out.Reset()
			limit = tt.limit
			for range 3 {
				if w := serve(m, "192.0.2.7:1"); w.Code != tt.want {
					t.Errorf("got %d, want %d", w.Code, tt.want)
				}
			}
			if got := out.String(); strings.Contains(got, "can never pass") || (tt.logs == "") != (got == "") ||
				tt.logs != "" && strings.Count(got, tt.logs) != 1 {
				t.Errorf("log: got %q, want %q once", got, tt.logs)
			}
		})
	}
}

// A store of a user's own whose Check panics takes no request with it: the limit is one that the store cannot run.
func TestCheckThatPanicsIsAnError(t *testing.T) {
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	limit := limiter.PerHour(5)
	rule := httplimit.Rule{Name: "r", Key: httplimit.Everyone(), Limit: limiter.PerMinute(5),
		LimitFunc: func(*http.Request) (limiter.Limit, error) { return limit, nil }}
	m := mustNew(t, httplimit.Config{Store: unsure{store}, Rules: []httplimit.Rule{rule},
		Logger: slog.New(slog.NewTextHandler(&log, nil))})
	send := socket(t, m)
	for _, want := range []string{`"r";q=5;w=60`, `"r";q=0;w=60`} {
		if got := send("", "").Header.Get("RateLimit-Policy"); got != want {
			t.Errorf("LimitFunc returns %v: got RateLimit-Policy %s, want %s", limit, got, want)
		}
		limit = limiter.PerHour(0) // that one can be refused without the store
	}
	if got := strings.Count(log.String(), "LimitFunc failed"); got != 1 {
		t.Errorf("log: got %s, want the fault in one line", &log)
	}
	rule.Limit = limiter.PerHour(5)
	var fault *httplimit.ConfigError
	if _, err := httplimit.New(httplimit.Config{Store: unsure{store}, Rules: []httplimit.Rule{rule}}); !errors.As(err,
		&fault) || fault.Field != "Rules[0].Limit" {
		t.Errorf("New: got %v, want a ConfigError of Rules[0].Limit", err)
	}
}

// unsure is a store that panics over limits an hour.
type unsure struct{ limiter.Store }

func (unsure) Check(l limiter.Limit) error {
	if l.Window == time.Hour {
		panic("no such plan")
	}
	return nil
}

// withoutLogs is a store that does not run SlidingLog.
type withoutLogs struct{ limiter.Store }

func (withoutLogs) Check(l limiter.Limit) error {
	if l.Algorithm == limiter.SlidingLog {
		return fmt.Errorf("no logs here: %w", limiter.ErrUnsupported)
	}
	return l.Validate()
}

func TestDirectCallsUnderALimitOfZero(t *testing.T) {
	for name, store := range map[string]limiter.Store{"memory": nil, "away": &scripted{err: errDown}} {
		t.Run(name, func(t *testing.T) {
			zero := httplimit.Rule{Name: "zero", Key: httplimit.Everyone(), Limit: limiter.PerMinute(0),
				Failure: httplimit.FailOpen}
			shadow := httplimit.Rule{Name: "shadow", Key: httplimit.Everyone(), Limit: limiter.PerMinute(0), Shadow: true}
			m := mustNew(t, httplimit.Config{Store: store, Rules: []httplimit.Rule{zero, shadow}})
			want := limiter.Decision{RetryAfter: limiter.Never}
			for call, ask := range map[string]func(context.Context, string, ...string) (httplimit.Verdict, error){
				"Allow": m.Allow, "Peek": m.Peek,
			} {
				v, err := ask(t.Context(), "zero")
				if err != nil || v.Decision != want || v.Limit != limiter.PerMinute(0) {
					t.Errorf("%s: got %+v, %v, want %+v of 0/m", call, v, err, want)
				}
			}
			if v, err := m.Allow(t.Context(), "shadow"); err != nil || !v.Allowed || v.RetryAfter != limiter.Never {
				t.Errorf("Allow of a shadow rule: got %+v, %v, want it allowed, and to say that it would never pass", v, err)
			}
			if err := m.Reset(t.Context(), "zero"); err != nil && !errors.Is(err, errDown) {
				t.Errorf("Reset: got %v, want nil", err)
			}
		})
	}
}

// A Shadow rule with a limit of 0 lets requests pass, and their Spend reaches its counter: nothing divides by 0.
func TestSpendUnderALimitOfZero(t *testing.T) {
	for _, algorithm := range []limiter.Algorithm{
		limiter.SlidingWindow, limiter.SlidingLog, limiter.FixedWindow, limiter.TokenBucket,
	} {
		limit := limiter.Limit{Window: time.Hour, Algorithm: algorithm}
		m := mustNew(t, httplimit.Config{Expose: true, Rules: []httplimit.Rule{
			{Name: "tokens", Key: httplimit.Everyone(), Limit: limit, Shadow: true},
		}})
		h := m.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if err := httplimit.Spend(r.Context(), "tokens", 7); err != nil {
				t.Errorf("%v: Spend: %v", algorithm, err)
			}
		}))
		h.ServeHTTP(httptest.NewRecorder(), get())
		limit.Requests = 10
		if err := m.Reconfigure(httplimit.Config{Rules: []httplimit.Rule{
			{Name: "tokens", Key: httplimit.Everyone(), Limit: limit},
		}}); err != nil {
			t.Fatal(err)
		}
		if v, err := m.Peek(t.Context(), "tokens"); err != nil || v.Remaining != 3 {
			t.Errorf("%v: 7 of 10 spent while the limit was 0: got %+v, %v, want 3 remaining", algorithm, v.Decision, err)
		}
	}
}
