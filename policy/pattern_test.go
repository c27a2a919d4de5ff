package policy_test

import (
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/httplimit/httplimit/policy"
)

// applies reports whether the rule of a policy with these conditions applies to a request.
func applies(t *testing.T, r *http.Request, conditions ...string) bool {
	t.Helper()
	p := &policy.Policy{Rules: mustParse(t, one("")).Rules}
	for _, text := range conditions {
		c, err := policy.ParseCondition(text)
		if err != nil {
			t.Fatal(err)
		}
		p.Rules[0].When = append(p.Rules[0].When, c)
	}
	cfg, err := p.Config(policy.Names{})
	if err != nil {
		t.Fatal(err)
	}
	return cfg.Rules[0].When(r)
}

func TestPatterns(t *testing.T) {
	for _, tt := range []struct {
		pattern  string
		yes, not []string // "METHOD target", GET if there is none
	}{
		{"/login", []string{
			"/login", "POST /login", "/login/", "//login", "/login//", "/LogIn", "/%6Cogin", "/%6c%6F%67in", "/%256cogin",
			"/%25256cogin",
			"/./login", "/x/../login", "/x/%2e%2e/login", "/x/..%2Flogin", "/x%2f..%2flogin", "/%2Flogin",
			"/login?next=/x", "/login/?x", "/login;v=1", "/;x/login", "/login%2F", "/.%5Clogin", "/login/.",
			"/%E2%84%AAx/../login",
			"http://shop.example/login",
		}, []string{"/", "/logins", "/login/x", "/x/login", "/log", "/x", "/login.json", "/log%20in", "/%", "/%2", "/%zz"}},
		{"POST /login", []string{"POST /login", "post /LOGIN/"}, []string{"/login", "HEAD /login", "PUT /login"}},
		{"GET /a", []string{"/a", "HEAD /a", "get /a"}, []string{"POST /a"}},
		{"/", []string{"/", "/a", "/a/b", "OPTIONS *", "//"}, nil},
		{"/{$}", []string{"/", "//", "/.", "/a/.."}, []string{"/a"}},
		{"/export/", []string{"/export/", "/export", "/export/a/b", "/EXPORT/a", "/a/../export/b"},
			[]string{"/exports/", "/a/export/"}},
		{"/export/{$}", []string{"/export/", "/export"}, []string{"/export/a"}},
		{"/export/{rest...}", []string{"/export/", "/export", "/export/a/b"}, []string{"/"}},
		{"/users/{id}", []string{"/users/1", "/users/a%2Fb", "/USERS/x/"}, []string{"/users", "/users/", "/users/1/orders"}},
		{"/users/{id}/orders", []string{
			"/users/1/orders", "/users/a%2Fb/orders", "/users/a%252Fb/orders", "/users//1/orders/", "/users/./1/orders",
			"/x/../users/%2e/orders", "/users//%2E%2e/orders/.", "/users/%2e/orders/x%2f../.."},
			[]string{"/users/orders", "/users/1"}},
		{"/a%2Fb", []string{"/a%2Fb", "/a%2fB"}, []string{"/a/b", "/ab"}},
		{"/käse", []string{"/k%C3%A4se", "/K%C3%84SE", "/%E2%84%AA%C3%A4se"}, []string{"/kase"}},
		{"/100%25", []string{"/100%25", "/100%2525"}, []string{"/100"}},
		{"api.shop.example/v1/", []string{
			"http://api.shop.example/v1/x", "http://API.shop.example:8080/v1", "http://api.shop.example./v1/"},
			[]string{"http://shop.example/v1/", "/v1/"}},
		{"[::1]/a", []string{"http://[::1]:8080/a", "http://[::1]/a"}, []string{"http://[::2]/a"}},
	} {
		for want, requests := range map[bool][]string{true: tt.yes, false: tt.not} {
			for _, line := range requests {
				method, target, found := strings.Cut(line, " ")
				if !found {
					method, target = http.MethodGet, line
				}
				u, err := url.ParseRequestURI(target)
				if err != nil { // no server takes it, but an adapter may be less strict
					u = &url.URL{Path: target}
				}
				r := &http.Request{Method: method, URL: u, Host: u.Host}
				if got := applies(t, r, tt.pattern); got != want {
					t.Errorf("%s and %s: got %v, want %v", tt.pattern, line, got, want)
				}
			}
		}
	}
}

// TestOneOfSeveralPatterns: and a rule for some networks is for their requests that match only.
func TestOneOfSeveralPatterns(t *testing.T) {
	for target, want := range map[string]bool{"/a": true, "/b/c": true, "/c": false} {
		if got := applies(t, httptest.NewRequest(http.MethodGet, target, nil), "POST /c", "/a", "/b/"); got != want {
			t.Errorf("%s: got %v, want %v", target, got, want)
		}
	}
}

func TestBadPatterns(t *testing.T) {
	for text, want := range map[string]string{
		"":                 "it has no path",
		"login":            "it has no path",
		"post /login":      `"post" is no method, want capital letters`,
		"POST  /login":     `" " is no host`,
		"POST\t/login":     `"POST\t" is no host`,
		"/a b":             `"/a" is no method`,
		"/a/../b":          `its path is not clean, want "/b"`,
		"//a":              `its path is not clean, want "/a"`,
		"//":               `its path is not clean, want "/"`,
		"/a?b=c":           "'?' must not be in a path",
		"/a#b":             "'#' must not be in a path",
		`/a\b`:             `'\\' must not be in a path`,
		"/a/{b":            `"{b" is no wildcard`,
		"/a/x{b}":          `"x{b}" is no wildcard`,
		"/a/{}":            `"{}" is no wildcard`,
		"/a/{1}":           `"{1}" is no wildcard`,
		"/a/{...}":         `"{...}" is no wildcard`,
		"/a/{$...}":        `"{$...}" is no wildcard`,
		"/a/{$}/b":         "{$} is not at the end",
		"/a/{b...}/c":      "{b...} is not at the end",
		"/{a}/{a}":         "the wildcard {a} stands there twice",
		"https://a.test/b": "its path is not clean",
		"{host}/a":         `"{host}" is no host`,
		"name:":            `"" is no name`,
		"name:a b":         `"a b" is no name`,
	} {
		if _, err := policy.ParseCondition(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

// TestPatternsAreWiderThanServeMux: what http.ServeMux routes to a pattern is never left out by it, and what it does
// not take for a pattern is none.
func TestPatternsAreWiderThanServeMux(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	matched := 0
	for range 30_000 {
		text := pick("", "", "GET ", "POST ", "CONNECT ") + pick("", "", "", "shop.example")
		for range 1 + random.IntN(3) {
			text += "/" + pick("a", "B", "{x}", "{y}", "a%2Fb", "%41", "a;b", "é")
		}
		text += pick("", "", "/", "/{$}", "/{z...}")
		c, err := policy.ParseCondition(text)
		if err != nil {
			continue
		}
		target := ""
		for range 1 + random.IntN(4) {
			target += "/" + pick("a", "b", "A", "%41", "%42", "a%2Fb", "a%2fb", "..", ".", "", "%2e%2e", "%00", "a;b",
				"%5C", "%C3%A9", "%25")
		}
		target += pick("", "", "/")
		u, err := url.ParseRequestURI(target)
		if err != nil {
			t.Fatal(err)
		}
		r := &http.Request{
			Method: pick("GET", "HEAD", "POST", "CONNECT"), URL: u,
			Host: pick("shop.example", "shop.example:80", "other.example"),
		}
		if !mux(t, c)(r) {
			continue
		}
		matched++
		if !applies(t, r, c.String()) {
			t.Errorf("%s %s%s is routed to %q, which does not match", r.Method, r.Host, target, c)
		}
	}
	if matched < 300 {
		t.Errorf("%d requests were routed, want many more", matched)
	}
}

// mux returns whether http.ServeMux takes a request to a handler of that pattern.
func mux(t *testing.T, c policy.Condition) func(*http.Request) bool {
	t.Helper()
	defer func() {
		if fault := recover(); fault != nil {
			t.Errorf("%q: http.ServeMux does not take it: %v", c, fault)
		}
	}()
	routed := false
	m := http.NewServeMux()
	m.HandleFunc(c.String(), func(http.ResponseWriter, *http.Request) { routed = true })
	return func(r *http.Request) bool {
		routed = false
		m.ServeHTTP(httptest.NewRecorder(), r)
		return routed
	}
}

// requests are those that a server or an adapter may make of a path.
func requests(path string) []*http.Request {
	all := []*http.Request{
		{Method: http.MethodGet, URL: &url.URL{Path: path}},
		{Method: http.MethodGet, URL: &url.URL{Path: path, RawPath: path}},
		{Method: http.MethodGet}, {},
	}
	if u, err := url.ParseRequestURI(path); err == nil {
		all = append(all, &http.Request{Method: http.MethodPost, URL: u, Host: u.Host})
	}
	return all
}
