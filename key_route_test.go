package httplimit

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// openMux has patterns of every shape: a client that could write a key through one of them would have a bucket for each
// request.
func openMux() (mux *http.ServeMux, patterns []string) {
	patterns = []string{
		"/{id}/", "/tree/", "GET /items/{id}", "/files/{path...}", "/a/{x}/b/{$}", "CONNECT /tunnel/{to}",
		"shop.example/{id}/",
	}
	mux = http.NewServeMux()
	for _, pattern := range patterns {
		mux.HandleFunc(pattern, func(http.ResponseWriter, *http.Request) {})
	}
	mux.Handle("/old", http.RedirectHandler("/new", http.StatusFound))
	return mux, append(patterns, "/old")
}

// routeFound returns the pattern that is the key of a request, "" for none.
func routeFound(t testing.TB, keys *ruleKeys, r *http.Request, patterns []string) string {
	t.Helper()
	got, skip, cause := found(keys, HTTPRequest(r))
	if skip || cause != nil {
		t.Fatalf("skip %v, cause %v; want neither", skip, cause)
	}
	for _, pattern := range patterns {
		if want, _ := keys.of([]string{pattern}, false); got == want {
			return pattern
		}
	}
	if got != "%N:" {
		t.Errorf("the key of %s %q for %q is %q, want that of a pattern, or none", r.Method, r.URL, r.Host, got)
	}
	return ""
}

// FuzzRouteOf: whatever the request, its key is that of a pattern or none.
func FuzzRouteOf(f *testing.F) {
	for _, path := range []string{
		"/x%2F%2Fy17", "/x%2F", "/tree", "/%74ree", "//a/../x", "/items/7", "*", "", "/files/a/", "/old",
	} {
		for _, method := range []string{"CONNECT", "GET", "OPTIONS", "connect"} {
			f.Add(method, path, "service.example", "")
			f.Add(method, path, "shop.example:443", "shop.example")
		}
	}
	mux, patterns := openMux()
	keys := compiled(f, RouteOf(mux), Everyone(), "")
	f.Fuzz(func(t *testing.T, method, path, host, urlHost string) {
		u, err := url.ParseRequestURI(path)
		if err != nil {
			u = &url.URL{Path: path}
		}
		u.Host = urlHost
		routeFound(t, keys, &http.Request{Method: method, URL: u, Host: host, Header: http.Header{}}, patterns)
	})
}

func TestRouteOfConnect(t *testing.T) {
	mux, patterns := openMux()
	keys := compiled(t, RouteOf(mux), Everyone(), "")
	for path, want := range map[string]string{
		"/x%2F%2Fy17": "", "/x%2Fy": "", "/x": "", "/x%2F": "", "/tree": "", "/old": "",
		"/x/": "/{id}/", "/tunnel/a": "CONNECT /tunnel/{to}", "/files/a": "/files/{path...}",
	} {
		u, err := url.ParseRequestURI(path)
		if err != nil {
			t.Fatal(err)
		}
		r := &http.Request{Method: http.MethodConnect, URL: u, Host: "service.example"}
		if got := routeFound(t, keys, r, patterns); got != want {
			t.Errorf("the route of CONNECT %s is %q, want %q", path, got, want)
		}
	}
}

// TestNoRoute: a request without a route has no identity alone, and an empty part beside others.
func TestNoRoute(t *testing.T) {
	mux, _ := openMux()
	none := func(*http.Request) string { return "" }
	for name, key := range map[string]Key{"Route": Route(), "RouteOf": RouteOf(mux), "RouteFrom": RouteFrom(none)} {
		for _, test := range []struct {
			key  Key
			want string
		}{
			{key, "%N:192.0.2.7"},
			{Compose(key), "%N:192.0.2.7"},
			{Compose(ClientIP(), key), "192.0.2.7:"},
			{FirstOf(key, ClientIP()), "%K2:192.0.2.7"},
		} {
			if got, _, cause := found(compiled(t, test.key, nil, ""), lines()); got != test.want || cause != nil {
				t.Errorf("%s: the key is %q, %v; want %q", name, got, cause, test.want)
			}
		}
	}
}

func TestRouteFrom(t *testing.T) {
	key := RouteFrom(func(r *http.Request) string { return r.Header.Get("X-Pattern") })
	if got, _, _ := found(compiled(t, key, nil, ""), lines("X-Pattern", "/users/{id}")); got != "/users/%7Bid%7D" {
		t.Errorf("the key is %q, want that of the pattern", got)
	}
}

// TestRouteWarnings: a limiter in the wrong place counts all routes together, and nobody would notice.
func TestRouteWarnings(t *testing.T) {
	routed := func(pattern string) Request {
		return newRequest(func(r *http.Request) { r.Pattern, r.RemoteAddr = pattern, "192.0.2.7:1" })
	}
	framework := func(pattern string) Request {
		r, _ := http.NewRequestWithContext(context.Background(), "GET", "/", nil)
		r.RemoteAddr = "192.0.2.7:1"
		return &httpRequest{r: r, value: 1, key: userKey{}, route: pattern}
	}
	header := RouteFrom(func(r *http.Request) string { return r.Pattern })
	for _, test := range []struct {
		name     string
		key      Key
		requests []Request
		want     []string
	}{
		{"never a pattern", Route(), []Request{routed(""), routed("")}, []string{"route-not-known"}},
		{"never one from a function", header, []Request{routed(""), routed("")}, []string{"route-not-known"}},
		{"never one of a framework", Route(), []Request{framework("")}, []string{"route-not-known"}},
		{"a request that no route matches, after one that has a route", Route(), []Request{routed("/a"), routed("")}, nil},
		{"a subrouter of chi", Route(), []Request{routed("/api/*"), routed("/web/*")}, []string{"route-ends-at-a-subrouter"}},
		{"and by its own context", header, []Request{routed("/api/*")}, []string{"route-ends-at-a-subrouter"}},
		{"a wildcard of a framework", Route(), []Request{framework("/api/*")}, nil},
		{"a wildcard of net/http", Route(), []Request{routed("GET /files/{path...}")}, nil},
		{"as a part", Compose(ClientIP(), Route()), []Request{routed("")}, []string{"route-not-known"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var codes []string
			keys, faults := compileKey("Key", "NoKey", test.key, nil, nil, func(code, message string) {
				codes = append(codes, code)
				if !strings.Contains(message, "Route key") || strings.Contains(message, "{}") {
					t.Errorf("the message of %s is %q, want it to tell what to do", code, message)
				}
			})
			if len(faults) > 0 {
				t.Fatal(faults[0])
			}
			for _, r := range test.requests {
				keys.find(r, false)
			}
			if !slices.Equal(codes, test.want) {
				t.Errorf("the warnings are %q, want %q", codes, test.want)
			}
		})
	}
}
