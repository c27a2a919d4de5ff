package policy_test

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/policy"
)

func names() policy.Names {
	return policy.Names{
		Keys: map[string]httplimit.Key{"user": httplimit.Header("X-User")},
		When: map[string]func(*http.Request) bool{"api": func(r *http.Request) bool { return r.Header.Get("Api") != "" }},
		Plan: func(r *http.Request) (string, error) { return r.Header.Get("Plan"), nil },
	}
}

// service is a handler behind the limits of a policy. It answers with the status that a request asks for.
func service(t *testing.T, text string) http.Handler {
	t.Helper()
	cfg, err := mustParse(t, text).Config(names())
	if err != nil {
		t.Fatal(err)
	}
	cfg.Logger = slog.New(slog.DiscardHandler)
	m, err := httplimit.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Fail") != "" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
}

// status sends a request with header fields "Name: value" and returns the answer's status.
func status(h http.Handler, target string, fields ...string) int {
	method, path, found := strings.Cut(target, " ")
	if !found {
		method, path = http.MethodGet, target
	}
	r := httptest.NewRequest(method, path, nil)
	for _, field := range fields {
		name, value, _ := strings.Cut(field, ": ")
		r.Header.Add(name, value)
		if name == "Peer" {
			r.RemoteAddr = value + ":1234"
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code
}

// TestWhatAPolicySays is what a service does by it. "429 x" is a request x that is refused; others pass.
func TestWhatAPolicySays(t *testing.T) {
	for name, tt := range map[string]struct {
		policy   string
		requests []string
	}{
		"limit by address": {one(""), []string{"/", "/a", "/", "/", "/", "429 /", "/|Peer: 192.0.2.9"}},
		"through trusted proxies": {`{"trustedProxies": ["192.0.2.0/24"],` + limit("1/m", "")[1:], []string{
			"/|X-Forwarded-For: 198.51.100.1", "/|X-Forwarded-For: 198.51.100.2", "429 /|X-Forwarded-For: 198.51.100.1",
			"/|Peer: 203.0.113.1|X-Forwarded-For: 198.51.100.1",
			"429 /|Peer: 203.0.113.1|X-Forwarded-For: 198.51.100.9"}},
		"noKey goes through them too": {
			`{"trustedProxies": ["192.0.2.0/24"], "rules": [{"name": "a", "key": "bearer", "limit": "1/m"}]}`, []string{
				"/|X-Forwarded-For: 198.51.100.1", "/|X-Forwarded-For: 198.51.100.2", "429 /|X-Forwarded-For: 198.51.100.1"}},
		"noKey": {`{"rules": [{"name": "a", "key": "bearer", "noKey": "everyone", "limit": "1/m"}]}`, []string{
			"/|Peer: 192.0.2.1", "429 /|Peer: 192.0.2.2", "/|Authorization: Bearer x"}},
		"composed": {`{"rules": [{"name": "a", "key": "ip + name:user", "limit": "1/m"}]}`, []string{
			"/|X-User: ann", "/|X-User: bob", "/|X-User: ann|Peer: 192.0.2.9", "429 /|X-User: ann"}},
		"the first of": {`{"rules": [{"name": "a", "key": "apikey:X-Key | ip", "limit": "1/m"}]}`, []string{
			"/|X-Key: k", "429 /|X-Key: k|Peer: 192.0.2.9", "/", "429 /"}},
		"when":     {limit("1/m", `, "when": ["/a", "name:api"]`), []string{"/", "/", "/a", "429 /A/", "429 /|Api: 1"}},
		"onlyFrom": {limit("0/m", `, "onlyFrom": ["198.51.100.0/24"]`), []string{"/", "429 /|Peer: 198.51.100.7"}},
		"notFrom":  {limit("0/m", `, "notFrom": ["198.51.100.0/24"]`), []string{"429 /", "/|Peer: 198.51.100.7"}},
		"onlyFrom, when": {limit("0/m", `, "onlyFrom": ["192.0.2.0/24"], "when": ["/a"]`), []string{
			"/", "429 /a", "/a|Peer: 198.51.100.7"}},
		"cost": {limit("5/m", `, "cost": 2`), []string{"/", "/", "429 /"}},
		"plans": {limit("1/m", `, "plans": {"pro": "2/m", "off": "0/m"}`), []string{
			"429 /|Plan: off", "/|Plan: pro",
			"429 /|Plan: none", "429 /", "/|Plan: pro", "429 /|Plan: pro"}},
		"countStatus": {limit("1/m", `, "countStatus": [401]`), []string{"/", "/", "401 /|Fail: 1", "429 /"}},
		"shadow":      {limit("1/m", `, "shadow": true`), []string{"/", "/", "/"}},
		"ban": {limit("1/m", `, "ban": {"after": 1, "within": "10m", "for": "1h"}`), []string{
			"/", "429 /", "wait", "429 /"}},
		"no ban":          {limit("1/m", ""), []string{"/", "429 /", "wait", "/"}},
		"percent of all":  {limit("1/m", `, "percent": 100`), []string{"/", "429 /"}},
		"several at once": {limit("1/m", `, "inFlight": true`), []string{"/", "/", "/"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := service(t, tt.policy)
				for i, request := range tt.requests {
					if request == "wait" {
						time.Sleep(11 * time.Minute)
						continue
					}
					want := http.StatusOK
					switch {
					case strings.HasPrefix(request, "429 "):
						want = http.StatusTooManyRequests
					case strings.HasPrefix(request, "401 "):
						want = http.StatusUnauthorized
					}
					parts := strings.Split(strings.TrimLeft(request, "0124 9"), "|")
					if got := status(h, parts[0], parts[1:]...); got != want {
						t.Errorf("request %d, %s: got %d", i+1, request, got)
					}
				}
			})
		})
	}
}

// limit is a policy of one rule by address with that limit.
func limit(text, added string) string { return strings.Replace(one(added), "5/m", text, 1) }

// TestConfigHasEverything compares the fields of a configuration that have no function in them.
func TestConfigHasEverything(t *testing.T) {
	cfg, err := mustParse(t, shop).Config(names())
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Namespace != "shop" || cfg.Instances != 10 ||
		cfg.Headers != httplimit.RateLimitFields|httplimit.XRateLimitDelta || len(cfg.Rules) != 5 {
		t.Errorf("got %+v, want what the text says", cfg)
	}
	login := cfg.Rules[1]
	ban := httplimit.Ban{After: 20, Within: 10 * time.Minute, For: time.Hour}
	if !login.Private || login.Failure != httplimit.FailClosed || login.Ban != ban || login.Limit !=
		(limiter.Limit{Requests: 5, Window: 15 * time.Minute, Algorithm: limiter.SlidingLog}) {
		t.Errorf("got %+v, want what the text says", login)
	}
	export := cfg.Rules[2]
	if export.Percent != 50 || len(export.Plans) != 2 || export.Plans[1] != limiter.Per(200, time.Hour) {
		t.Errorf("got %+v, want what the text says", export)
	}
	if !cfg.Rules[3].InFlight || !cfg.Rules[4].Shadow {
		t.Errorf("got %+v and %+v, want InFlight and Shadow", cfg.Rules[3], cfg.Rules[4])
	}
}

// TestNamesThatTheProgramDoesNotHave are told all at once, with their places.
func TestNamesThatTheProgramDoesNotHave(t *testing.T) {
	text, places := unmark(`{"rules": [{"name": "a", "key": ¶"ip + name:usr", "noKey": ¶"name:x", "limit": "5/m",
		"when": ["/a", ¶"name:apis"], "plans": ¶{"pro": "6/m"}}]}`)
	p := mustParse(t, text)
	_, err := p.Config(policy.Names{Keys: names().Keys, When: names().When})
	if err == nil {
		t.Fatal("Config: got no error")
	}
	checkFaults(t, err, places, []string{
		`rules[0].key: the program has no "usr" among Names.Keys, which has "user"`,
		`rules[0].noKey: the program has no "x" among Names.Keys`,
		`rules[0].when[1]: the program has no "apis" among Names.When, which has "api"`,
		`rules[0].plans: the program has no Names.Plan`,
	})
	if _, err := p.Config(policy.Names{}); err == nil || !strings.Contains(err.Error(), "Names.Keys, which is empty") {
		t.Errorf("got %v, want that there are none", err)
	}
}

// TestBanByANamedKeyOfAll: what only the program's keys show is found by Config.
func TestBanByANamedKeyOfAll(t *testing.T) {
	text, places := unmark(`{"rules": [{"name": "a", "key": "name:all", "limit": "5/m",
		"ban": ¶{"after": 3, "within": "1m", "for": "1h"}}]}`)
	_, err := mustParse(t, text).Config(policy.Names{Keys: map[string]httplimit.Key{"all": httplimit.Everyone()}})
	if err == nil {
		t.Fatal("Config: got no error")
	}
	checkFaults(t, err, places, []string{"rules[0].ban: the key is the same for all clients"})
}

// TestPlanErrors: ErrSkip leaves the rule out, any other error is the rule's limit.
func TestPlanErrors(t *testing.T) {
	n := names()
	n.Plan = func(r *http.Request) (string, error) {
		if r.URL.Path == "/skip" {
			return "", httplimit.ErrSkip
		}
		return "pro", errors.New("no database")
	}
	cfg, err := mustParse(t, limit("1/m", `, "plans": {"pro": "9/m"}`)).Config(n)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{"/skip": httplimit.ErrSkip, "/": nil} {
		_, err := cfg.Rules[0].LimitFunc(httptest.NewRequest(http.MethodGet, path, nil))
		if err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%s: got %v, want the error of Plan", path, err)
		}
	}
}

// TestPolicyMadeInGo is checked as one that was read is, without places.
func TestPolicyMadeInGo(t *testing.T) {
	p := mustParse(t, shop)
	p.Rules = p.Rules[:1]
	p.Rules[0].Percent, p.Rules[0].Shadow = 5, true
	_, err := p.Config(policy.Names{})
	want := `policy: rules[0] "address".percent: it is 5 and shadow is set, want one of the two`
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	p.Rules[0].Percent, p.Rules[0].Limit = 0, limiter.Limit{}
	want = `policy: rules[0] "address": `
	if _, err := p.Config(policy.Names{}); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err := new(policy.Policy).Config(policy.Names{}); err == nil {
		t.Error("the zero Policy: got no error")
	}
}
