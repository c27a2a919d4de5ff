package httplimit_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// percentRule lets nobody pass for whom it is in force.
func percentRule(name string, percent int) httplimit.Rule {
	return httplimit.Rule{Name: name, Key: httplimit.Header("X-User"), Limit: limiter.PerMinute(0), Percent: percent}
}

// inForce reports whether the rule is in force for a client.
func inForce(t *testing.T, m *httplimit.Middleware, rule, client string) bool {
	t.Helper()
	v, err := m.Peek(t.Context(), rule, client)
	if err != nil {
		t.Fatal(err)
	}
	return !v.Allowed
}

// TestPercentIsThatShareOfTheKeys: within 1 % of 100,000 keys; and who is in stays in when it grows.
func TestPercentIsThatShareOfTheKeys(t *testing.T) {
	const keys = 100_000
	percents := []int{1, 10, 50, 90, 99, 100}
	rules := make([]httplimit.Rule, len(percents))
	middlewares := make([]*httplimit.Middleware, len(percents))
	for i, percent := range percents {
		rules[i] = percentRule("r", percent)
		middlewares[i] = mustNew(t, httplimit.Config{Rules: rules[i : i+1]})
	}
	in := make([]int, len(percents))
	for key := range keys {
		client := fmt.Sprintf("user%d", key)
		before := false
		for i, m := range middlewares {
			now := inForce(t, m, "r", client)
			if before && !now {
				t.Fatalf("%s is in at %d %% and out at %d %%", client, percents[i-1], percents[i])
			}
			if before = now; now {
				in[i]++
			}
		}
	}
	for i, percent := range percents {
		if got := 100 * float64(in[i]) / keys; math.Abs(got-float64(percent)) > 1 || percent == 100 && got != 100 {
			t.Errorf("at %d %% the rule is in force for %.2f %% of the keys, want that within 1", percent, got)
		}
	}
}

// TestRulesChooseTheirClientsIndependently: else the same clients would have all trials to bear.
func TestRulesChooseTheirClientsIndependently(t *testing.T) {
	m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{percentRule("a", 50), percentRule("b", 50)}})
	other := mustNew(t, httplimit.Config{Namespace: "other", Rules: []httplimit.Rule{percentRule("a", 50)}})
	const keys = 20_000
	both, spaces := 0, 0
	for key := range keys {
		client := fmt.Sprint(key)
		if inForce(t, m, "a", client) {
			if inForce(t, m, "b", client) {
				both++
			}
			if inForce(t, other, "a", client) {
				spaces++
			}
		}
	}
	for what, n := range map[string]int{"two rules": both, "two namespaces": spaces} {
		if got := 100 * float64(n) / keys; math.Abs(got-25) > 1.5 {
			t.Errorf("%s of 50 %%: %.2f %% of the clients are in both, want 25 within 1.5", what, got)
		}
	}
}

// TestPercentIsTheSameEverywhere: for each client the least percentage at which it is in, calculated by another
// program. A change of these numbers would have every service choose other clients.
func TestPercentIsTheSameEverywhere(t *testing.T) {
	for _, tt := range []struct {
		namespace, rule, client string
		least                   int
	}{
		{"shop", "api", "192.0.2.7", 23},
		{"", "api", "192.0.2.7", 98},
		{"shop", "api", "ann", 36},
		{"shopa", "pi", "ann", 45},
		{"", "r", "user8", 2},
		{"", "r", "user36", 99},
	} {
		for percent, want := range map[int]bool{tt.least - 1: false, tt.least: true, 100: true} {
			m := mustNew(t, httplimit.Config{Namespace: tt.namespace, Rules: []httplimit.Rule{percentRule(tt.rule, percent)}})
			if got := inForce(t, m, tt.rule, tt.client); got != want {
				t.Errorf("%q of rule %q in namespace %q is in at %d %%: got %v, want %v",
					tt.client, tt.rule, tt.namespace, percent, got, want)
			}
		}
	}
}

// TestClientsAreWhollyInOrOut: whatever is asked about a client, and in whatever way the store is.
func TestClientsAreWhollyInOrOut(t *testing.T) {
	// At 50 %: user8 and user20 are in, user0 and user1 are out, of rule r.
	as := func(user string, r *http.Request) *http.Request {
		r.Header.Set("X-User", user)
		return r
	}
	for _, secret := range [][]byte{nil, keySecret} {
		m := mustNew(t, httplimit.Config{KeySecret: secret, Rules: []httplimit.Rule{percentRule("r", 50)}})
		seen := map[bool]int{}
		for i := range 60 {
			user := fmt.Sprintf("user%d", i)
			in := inForce(t, m, "r", user)
			seen[in]++
			status, denied := 200, false
			if in {
				status, denied = 429, true
			}
			for kind, r := range map[string]*http.Request{"request": get(), "preflight": preflight()} {
				for range 2 {
					w := serveRequest(m, as(user, r))
					_, named := w.Header()["Ratelimit-Policy"]
					if w.Code != status || named != in {
						t.Errorf("a %s of %s, in: %v: got %d and fields %v, want %d", kind, user, in, w.Code, named, status)
					}
				}
				all, err := m.PeekRequest(as(user, r))
				if err != nil || len(all) != 1 || all[0].Allowed == in || all[0].Limit != limiter.PerMinute(0) {
					t.Errorf("PeekRequest of a %s of %s, in: %v: got %+v, %v", kind, user, in, all, err)
				}
			}
			v, err := m.Allow(t.Context(), "r", user)
			if _, refused := v.Denied(); err != nil || v.Allowed == in || refused != denied {
				t.Errorf("Allow of %s, in: %v: got %+v, %v, denied %v", user, in, v, err, refused)
			}
			if v, err = m.PeekLimit(t.Context(), "r", limiter.PerDay(0), user); err != nil || v.Allowed == in {
				t.Errorf("PeekLimit of %s, in: %v: got %+v, %v", user, in, v, err)
			}
		}
		if seen[true] < 15 || seen[false] < 15 {
			t.Errorf("in and out are %v of 60 clients, want some of each", seen)
		}
	}
}

// TestPercentOfSharedKeys: what shares a key is in or out together, requests and preflights.
func TestPercentOfSharedKeys(t *testing.T) {
	tests := map[string]struct {
		key     httplimit.Key
		headers []string
		least   int // of the stored key, see TestPercentIsTheSameEverywhere
	}{
		"without the identity": {key: httplimit.Header("X-User"), least: 75},
		"ambiguous": {httplimit.Header("X-User"), []string{"X-User", "a", "X-User", "b"},
			93},
		"everyone": {key: httplimit.Everyone(), least: 73},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for percent, want := range map[int]int{tt.least - 1: 200, tt.least: 429} {
				if percent == 0 {
					continue // which is everybody
				}
				rule := percentRule("r", percent)
				rule.Key = tt.key
				m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{rule}})
				for _, r := range []*http.Request{get(), preflight()} {
					for i := 0; i < len(tt.headers); i += 2 {
						r.Header.Add(tt.headers[i], tt.headers[i+1])
					}
					if got := serveRequest(m, r).Code; got != want {
						t.Errorf("%s at %d %%: got %d, want %d", r.Method, percent, got, want)
					}
				}
			}
		})
	}
}

// TestOutsideOfPercentNothingIsRefused, whatever the policy and the limit are, and other rules are what they were.
func TestOutsideOfPercentNothingIsRefused(t *testing.T) {
	const in, out = "user8", "user0"
	with := func(limit limiter.Limit, policy httplimit.FailurePolicy) httplimit.Rule {
		r := percentRule("r", 50)
		r.Limit, r.Failure = limit, policy
		return r
	}
	other := httplimit.Rule{Name: "other", Key: httplimit.Everyone(), Limit: limiter.PerDay(0)}
	open := httplimit.Rule{Name: "other", Key: httplimit.Everyone(), Limit: limiter.PerDay(100)}
	zero, one := limiter.PerDay(0), limiter.PerDay(1)
	local, closed := httplimit.FailLocal, httplimit.FailClosed
	refuses := &scripted{answer: func(c *limiter.Charge) { c.Decision = limiter.Decision{RetryAfter: 5e9} }}
	tests := map[string]struct {
		store   limiter.Store
		rules   []httplimit.Rule
		in, out int
		policy  string // of out
		named   []any  // in the answer to out
	}{
		"the limit is spent":    {refuses, []httplimit.Rule{with(one, local)}, 429, 200, "", nil},
		"beside a rule for all": {nil, []httplimit.Rule{with(zero, local), open}, 429, 200, `"other";q=100;w=86400`, nil},
		"another rule refuses": {
			nil,
			[]httplimit.Rule{with(zero, local), other},
			429,
			429,
			`"other";q=0;w=86400`,
			[]any{"other"},
		},
		"another one, both refuse": {
			refuses,
			[]httplimit.Rule{open, with(one, local)},
			429,
			429,
			`"other";q=100;w=86400`,
			[]any{"other"},
		},
		"closed": {&scripted{err: errDown}, []httplimit.Rule{with(one, closed)}, 503, 200, "", nil},
		"closed, beside an open": {&scripted{err: errDown}, []httplimit.Rule{with(one, closed), open}, 503, 200,
			`"other";q=100;w=86400`, nil},
		"down, a limit of 0": {&scripted{err: errDown}, []httplimit.Rule{with(zero, closed)}, 429, 200, "", nil},
		"down, counted here": {&scripted{err: errDown}, []httplimit.Rule{with(zero, local)}, 429, 200, "", nil},
		"down, another rule refuses": {
			&scripted{err: errDown},
			[]httplimit.Rule{with(one, closed), other},
			429,
			429,
			"",
			[]any{"other"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := mustNew(t, httplimit.Config{Store: tt.store, Rules: tt.rules})
			for user, want := range map[string]int{in: tt.in, out: tt.out} {
				for range 3 {
					r := get()
					r.Header.Set("X-User", user)
					w := serveRequest(m, r)
					if w.Code != want {
						t.Fatalf("%s: got %d, want %d", user, w.Code, want)
					}
					if user == in {
						continue
					}
					text := fmt.Sprint(w.Header())
					if policy := w.Header().Get("RateLimit-Policy"); strings.Contains(text, `"r"`) ||
						tt.policy != "" && policy != tt.policy {
						t.Errorf("the fields of an answer are %s, want the policies %q and no \"r\"", text, tt.policy)
					}
					if tt.named != nil {
						checkProblem(t, w, map[string]any{"violated-policies": tt.named})
					}
				}
			}
		})
	}
}

// TestOutsideOfPercentIsToldAsShadow: the Observer and the log say what the rule would have refused, as for Shadow.
func TestOutsideOfPercentIsToldAsShadow(t *testing.T) {
	var out bytes.Buffer
	seen := &recorder{}
	m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{percentRule("r", 50)}, Observer: seen, Expose: true,
		Logger: slog.New(slog.NewTextHandler(&out, nil))})
	var verdicts []httplimit.Verdict
	h := m.Handler(
		http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { verdicts = httplimit.Verdicts(r.Context()) }),
	)
	for _, user := range []string{"user8", "user0"} {
		r := get()
		r.Header.Set("X-User", user)
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	want := []string{"r refused by cache costs 1", "r shadow_refused by store costs 1"}
	if !slices.Equal(seen.seen, want) {
		t.Errorf("observed: got %q, want %q", seen.seen, want)
	}
	if got := out.String(); strings.Count(got, "would have refused") != 1 || !strings.Contains(got, "requests=1") {
		t.Errorf("log: got %q, want one line about the one client outside", got)
	}
	if len(verdicts) != 1 || verdicts[0].Rule != "r" || verdicts[0].RetryAfter != limiter.Never {
		t.Fatalf("Verdicts: got %+v, want that of r", verdicts)
	}
	if _, refuses := verdicts[0].Denied(); refuses {
		t.Errorf("the Verdict %+v is a reason to refuse, want none", verdicts[0])
	}
}

// TestPercentKeepsWhatWasSpent: who comes in has spent what it spent before.
func TestPercentKeepsWhatWasSpent(t *testing.T) {
	rule := func(percent int) httplimit.Config {
		r := percentRule("r", percent)
		r.Limit = limiter.PerDay(3)
		return httplimit.Config{Rules: []httplimit.Rule{r}}
	}
	m := mustNew(t, rule(1))
	for range 5 {
		if v, err := m.Allow(context.Background(), "r", "user0"); err != nil || !v.Allowed {
			t.Fatalf("outside: got %+v, %v, want it allowed", v, err)
		}
	}
	if err := m.Reconfigure(rule(100)); err != nil {
		t.Fatal(err)
	}
	if v, err := m.Allow(context.Background(), "r", "user0"); err != nil || v.Allowed {
		t.Errorf("inside: got %+v, %v, want it refused", v, err)
	}
}

func TestPercentFaults(t *testing.T) {
	for _, tt := range []struct {
		percent int
		shadow  bool
		want    []string
	}{
		{0, false, nil}, {1, false, nil}, {99, false, nil}, {100, false, nil}, {0, true, nil},
		{-1, false, []string{"Rules[0].Percent"}}, {101, false, []string{"Rules[0].Percent"}},
		{1, true, []string{"Rules[0].Percent"}}, {100, true, []string{"Rules[0].Percent"}},
		{101, true, []string{"Rules[0].Percent"}},
	} {
		rule := percentRule("r", tt.percent)
		rule.Shadow = tt.shadow
		if _, err := httplimit.New(httplimit.Config{Rules: []httplimit.Rule{rule}}); !slices.Equal(fields(err), tt.want) {
			t.Errorf("Percent %d, Shadow %v: got faults of %q, want of %q: %v", tt.percent, tt.shadow, fields(err), tt.want, err)
		}
	}
}
