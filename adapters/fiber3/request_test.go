package fiber3limit_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v3"
	"github.com/httplimit/httplimit"
	fiber3limit "github.com/httplimit/httplimit/adapters/fiber3"
	"github.com/httplimit/httplimit/limiter"
)

func TestFromReachesEveryFunction(t *testing.T) {
	user := func(r *http.Request) string {
		c, ok := fiber3limit.From(r)
		if !ok {
			t.Error("there is no Fiber context")
			return ""
		}
		return c.Locals("user").(string)
	}
	store := newSpy(t)
	m := limit(t, store, httplimit.Rule{
		Name:      "user",
		When:      func(r *http.Request) bool { return user(r) != "root" },
		Key:       httplimit.KeyFunc(func(r *http.Request) (string, error) { return user(r), nil }),
		Cost:      func(r *http.Request) (int64, error) { return int64(len(user(r))), nil },
		LimitFunc: func(r *http.Request) (limiter.Limit, error) { return limiter.PerDay(int64(len(user(r)) * 10)), nil },
	})
	app := newApp()
	app.Use(
		func(c fiber.Ctx) error { c.Locals("user", strings.Clone(c.Query("user"))); return c.Next() },
		fiber3limit.New(m),
	)
	app.Get("/", hello)
	url := serve(t, app)
	get(t, url+"?user=root")
	get(t, url+"?user=alice")
	if len(store.asked) != 1 {
		t.Fatalf("the store was asked %d times, want once", len(store.asked))
	}
	if c := store.asked[0]; c.Key != "alice" || c.Cost != 5 || c.Limit != limiter.PerDay(50) {
		t.Errorf("got %q, cost %d, %v, want alice, 5, 50/h", c.Key, c.Cost, c.Limit)
	}
}

func TestFromElsewhere(t *testing.T) {
	if c, ok := fiber3limit.From(httptest.NewRequest(http.MethodGet, "/", nil)); ok || c != nil {
		t.Errorf("got %v, %v for a request without a Fiber context", c, ok)
	}
}

func TestRequestInTheFormOfNetHTTP(t *testing.T) {
	var kept *http.Request
	key := httplimit.KeyFunc(func(r *http.Request) (string, error) {
		if kept == nil {
			kept = r
		}
		return "", nil
	})
	app := newApp()
	app.Use(fiber3limit.New(limit(t, nil, httplimit.Rule{Name: "r", Key: key})))
	app.Post("/*", hello)
	address := listen(t, app, "tcp", "127.0.0.1:0").String()
	const first = "POST /a%2Fb/c?x=1&y HTTP/1.1\nHost: api.example:8080\nContent-Length: 2\nx-tenant: acme\n" +
		"X-Forwarded-For: 192.0.2.1\nX-Forwarded-For: 192.0.2.2\nCookie: a=b\n\nhi"
	// On the same connection, so that it overwrites the first.
	const second = "POST /zzzzzzz?zzz=zzz HTTP/1.1\nHost: zzzzzzzzzzzzzzzz\nContent-Length: 2\nZ-Zzzzzz: zzzz\n" +
		"Z-Zzzzzzzzz-Zzz: zzzzzzzzz\nZ-Zzzzzzzzz-Zzz: zzzzzzzzz\nZzzzzz: zzz\nConnection: close\n\nzz"
	raw(t, "tcp", address, first+second)

	if kept.Method != "POST" || kept.Host != "api.example:8080" || kept.ContentLength != 2 || kept.Proto != "HTTP/1.1" ||
		kept.ProtoMajor != 1 || kept.ProtoMinor != 1 || kept.RequestURI != "/a%2Fb/c?x=1&y" || kept.TLS != nil {
		t.Errorf("got %+v", kept)
	}
	if u := kept.URL; u.Path != "/a/b/c" || u.EscapedPath() != "/a%2Fb/c" || u.RawQuery != "x=1&y" {
		t.Errorf("URL: got %#v", u)
	}
	if !strings.HasPrefix(kept.RemoteAddr, "127.0.0.1:") {
		t.Errorf("RemoteAddr: got %q", kept.RemoteAddr)
	}
	want := http.Header{
		"Content-Length":  {"2"},
		"X-Tenant":        {"acme"},
		"X-Forwarded-For": {"192.0.2.1", "192.0.2.2"},
		"Cookie":          {"a=b"},
	}
	for name, lines := range want {
		if !slices.Equal(kept.Header[name], lines) {
			t.Errorf("%s: got %q, want %q", name, kept.Header[name], lines)
		}
	}
	if len(kept.Header) != len(want) {
		t.Errorf("Header: got %q, want %q", kept.Header, want)
	}
}

func TestBodyLength(t *testing.T) {
	var got int64
	key := httplimit.KeyFunc(func(r *http.Request) (string, error) { got = r.ContentLength; return "", nil })
	app := newApp()
	app.Use(fiber3limit.New(limit(t, nil, httplimit.Rule{Name: "r", Key: key})))
	address := listen(t, app, "tcp", "127.0.0.1:0").String()
	for name, tt := range map[string]struct {
		request string
		want    int64
	}{
		"GET":                 {"GET / HTTP/1.1\nHost: x\nConnection: close\n\n", 0},
		"POST without a body": {"POST / HTTP/1.1\nHost: x\nConnection: close\n\n", 0},
		"length":              {"POST / HTTP/1.1\nHost: x\nConnection: close\nContent-Length: 2\n\nhi", 2},
		"chunked": {
			"POST / HTTP/1.1\nHost: x\nConnection: close\nTransfer-Encoding: chunked\n\n2\nhi\n0\n\n", -1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got = -9
			answer := raw(t, "tcp", address, tt.request)
			if got != tt.want {
				t.Errorf("got %d, want %d; answer %q", got, tt.want, answer)
			}
		})
	}
}

func TestTargetThatNetHTTPRefuses(t *testing.T) {
	var path string
	key := httplimit.KeyFunc(func(r *http.Request) (string, error) { path = r.URL.Path; return "", nil })
	app := newApp()
	app.Use(fiber3limit.New(limit(t, nil, httplimit.Rule{Name: "r", Key: key})))
	raw(t, "tcp", listen(t, app, "tcp", "127.0.0.1:0").String(), "GET /a%zz HTTP/1.1\nHost: x\nConnection: close\n\n")
	if path != "/a%zz" {
		t.Errorf("Path: got %q, want /a%%zz", path)
	}
}

func TestExpose(t *testing.T) {
	store := newSpy(t)
	app := newApp()
	app.Get("/", fiber3limit.New(limit(t, store, httplimit.Rule{Name: "tokens"})), func(c fiber.Ctx) error {
		if v := httplimit.Verdicts(c.Context()); len(v) != 1 || v[0].Remaining != 99 {
			t.Errorf("got %+v, want one rule with 99 remaining", v)
		}
		return httplimit.Spend(c.Context(), "tokens", 9)
	})
	if a := get(t, serve(t, app)); a.StatusCode != http.StatusOK {
		t.Errorf("got %s %s", a.Status, a.body)
	}
	if got := store.asked[len(store.asked)-1].Cost; got != 9 {
		t.Errorf("spent %d, want 9", got)
	}
}

func TestRouteIsThePattern(t *testing.T) {
	store := newSpy(t)
	app := newApp()
	m := fiber3limit.New(limit(t, store, httplimit.Rule{Name: "route", Key: httplimit.Route()}))
	app.Group("/v1").Get("/users/:id", m, hello)
	app.Get("/other", m, hello)
	url := serve(t, app)
	for _, path := range []string{"/v1/users/1", "/v1/users/2", "/other"} {
		get(t, url+path)
	}
	if got, want := store.keys(), []string{"/v1/users/:id", "/v1/users/:id", "/other"}; !slices.Equal(got, want) {
		t.Errorf("got the keys %q, want %q", got, want)
	}
}

func TestUnixSocketIsNoAddress(t *testing.T) {
	store, seen := newSpy(t), "none"
	app := newApp()
	app.Use(fiber3limit.New(limit(t, store,
		httplimit.Rule{Name: "ip", When: func(r *http.Request) bool { seen = r.RemoteAddr; return true }},
		httplimit.Rule{Name: "behind", Key: httplimit.ClientIPFrom(httplimit.ClientIPConfig{
			Header: "X-Forwarded-For", TrustUnixSocket: true})},
	)))
	app.Get("/", hello)
	path := filepath.Join(t.TempDir(), "s")
	listen(t, app, "unix", path)
	raw(t, "unix", path, "GET / HTTP/1.1\nHost: x\nX-Forwarded-For: 192.0.2.7\nConnection: close\n\n")
	if strings.Contains(seen, "0.0.0.0") {
		t.Errorf("RemoteAddr: got %q, want none", seen)
	}
	if got := store.keys(); len(got) != 2 || strings.Contains(got[0], "0.0.0.0") || got[1] != "192.0.2.7" {
		t.Errorf("got the keys %q, want one without an address and 192.0.2.7", got)
	}
}

// app.Test has no socket: fasthttp calls that 0.0.0.0.
func TestNoSocketIsNoAddress(t *testing.T) {
	seen := "none"
	app := newApp()
	app.Use(fiber3limit.New(limit(t, nil, httplimit.Rule{Name: "ip",
		When: func(r *http.Request) bool { seen = r.RemoteAddr; return true }})))
	app.Get("/", hello)
	response, err := app.Test(httptest.NewRequest(http.MethodGet, "/", nil))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if seen != "" {
		t.Errorf("RemoteAddr: got %q, want none", seen)
	}
}

func TestStoreDown(t *testing.T) {
	app := newApp()
	app.Use(fiber3limit.New(limit(t, broken{}, httplimit.Rule{Name: "ip", Failure: httplimit.FailClosed})))
	app.Get("/", hello)
	a := get(t, serve(t, app))
	if a.StatusCode != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" ||
		a.Header.Get("RateLimit") != "" {
		t.Errorf("got %s %v, want 503 with Retry-After alone", a.Status, a.Header)
	}
}

type broken struct{ limiter.Store }

func (broken) Take(context.Context, []limiter.Charge) (bool, error) { return false, errors.New("down") }

// behindProxy trusts the loopback addresses and 10.0.0.0/8.
func behindProxy(t *testing.T, store limiter.Store) fiber.Handler {
	t.Helper()
	trusted := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8")}
	return fiber3limit.New(limit(t, store, httplimit.Rule{Name: "ip", Key: httplimit.ClientIP(trusted...)}))
}

// TestRequestIsWhatRulesSee: a page that tells users their quota finds the counters that their requests are counted by.
func TestRequestIsWhatRulesSee(t *testing.T) {
	user := httplimit.KeyFunc(func(r *http.Request) (string, error) {
		c, ok := fiber3limit.From(r)
		if !ok {
			return "", errors.New("there is no context")
		}
		return c.Locals("user").(string), nil
	})
	lb := httplimit.ClientIP(netip.MustParsePrefix("127.0.0.0/8"))
	m := limit(t, nil,
		httplimit.Rule{Name: "user", Key: user, Limit: limiter.PerDay(10)},
		httplimit.Rule{Name: "route", Key: httplimit.Route(), Limit: limiter.PerDay(20)},
		httplimit.Rule{Name: "address", Key: lb, Limit: limiter.PerDay(30)},
		httplimit.Rule{Name: "token", Key: httplimit.APIKey("X-Token"), Limit: limiter.PerDay(40)})
	var told []httplimit.Verdict
	var address netip.Addr
	app := newApp()
	app.Use(func(c fiber.Ctx) error { c.Locals("user", strings.Clone(c.Query("user"))); return c.Next() })
	app.Get("/items/:id", fiber3limit.New(m), func(c fiber.Ctx) error {
		var err error
		if told, err = m.PeekRequest(fiber3limit.Request(c)); err != nil {
			t.Error(err)
		}
		if address, err = httplimit.ClientAddr(lb, fiber3limit.Request(c)); err != nil {
			t.Error(err)
		}
		return nil
	})
	url := serve(t, app)
	header := http.Header{"X-Forwarded-For": {"203.0.113.9"}, "X-Token": {"one", "two"}}
	for spent := range int64(3) {
		send(t, http.MethodGet, url+"/items/"+strconv.FormatInt(spent, 10)+"?user=ann", header)
		if address != netip.MustParseAddr("203.0.113.9") {
			t.Errorf("request %d: ClientAddr: got %v, want 203.0.113.9", spent+1, address)
		}
		if len(told) != 4 {
			t.Fatalf("request %d: got %+v, want four verdicts", spent+1, told)
		}
		for i, quota := range []int64{10, 20, 30, 40} {
			if got, want := told[i].Remaining, quota-spent-1; got != want {
				t.Errorf("request %d: %s: got %d remaining, want %d", spent+1, told[i].Rule, got, want)
			}
		}
	}
}
