package echo5limit_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"testing"

	"github.com/httplimit/httplimit"
	echo5limit "github.com/httplimit/httplimit/adapters/echo5"
	"github.com/httplimit/httplimit/limiter"
	"github.com/labstack/echo/v5"
)

func TestFromReachesEveryFunction(t *testing.T) {
	user := func(r *http.Request) string {
		c, ok := echo5limit.From(r)
		if !ok {
			t.Error("there is no Echo context")
			return ""
		}
		return c.Get("user").(string)
	}
	store := newSpy(t)
	m := limit(t, store, httplimit.Rule{
		Name:      "user",
		When:      func(r *http.Request) bool { return user(r) != "root" },
		Key:       httplimit.KeyFunc(func(r *http.Request) (string, error) { return user(r), nil }),
		Cost:      func(r *http.Request) (int64, error) { return int64(len(user(r))), nil },
		LimitFunc: func(r *http.Request) (limiter.Limit, error) { return limiter.PerDay(int64(len(user(r)) * 10)), nil },
	})
	e := newEcho()
	e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c *echo.Context) error { c.Set("user", c.QueryParam("user")); return next(c) }
	}, echo5limit.New(m))
	e.GET("/", hello)
	url := serve(t, e)
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
	if c, ok := echo5limit.From(httptest.NewRequest(http.MethodGet, "/", nil)); ok || c != nil {
		t.Errorf("got %v, %v for a request without an Echo context", c, ok)
	}
}

func TestExpose(t *testing.T) {
	store := newSpy(t)
	e := newEcho()
	e.GET("/", func(c *echo.Context) error {
		if v := httplimit.Verdicts(c.Request().Context()); len(v) != 1 || v[0].Remaining != 99 {
			t.Errorf("got %+v, want one rule with 99 remaining", v)
		}
		if err := httplimit.Spend(c.Request().Context(), "tokens", 9); err != nil {
			t.Error(err)
		}
		return nil
	}, echo5limit.New(limit(t, store, httplimit.Rule{Name: "tokens"})))
	url := serve(t, e)
	get(t, url)
	if got := store.asked[len(store.asked)-1].Cost; got != 9 {
		t.Errorf("spent %d, want 9", got)
	}
}

func TestRouteIsThePattern(t *testing.T) {
	store := newSpy(t)
	e := newEcho()
	e.Use(echo5limit.New(limit(t, store, httplimit.Rule{Name: "route", Key: httplimit.Route()})))
	e.GET("/users/:id", hello)
	url := serve(t, e)
	for _, path := range []string{"/users/1", "/users/2", "/none", "/nothing"} {
		get(t, url+path)
	}
	want := []string{"/users/:id", "/users/:id", "", ""}
	if got := store.keys(); got[0] != got[1] || got[2] != got[3] || got[0] == got[2] {
		t.Errorf("got the keys %q, want such as %q", got, want)
	}
}

func TestAllLinesOfAHeader(t *testing.T) {
	store := newSpy(t)
	e := newEcho()
	e.IPExtractor = echo.ExtractIPFromRealIPHeader() // must not matter
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8")}
	e.Use(echo5limit.New(limit(t, store,
		httplimit.Rule{Name: "client", Key: httplimit.ClientIP(loopback...)},
		httplimit.Rule{Name: "peer"},
	)))
	e.GET("/", hello)
	send(t, http.MethodGet, serve(t, e), http.Header{
		"X-Forwarded-For": {"203.0.113.66", "198.51.100.1, 192.0.2.7", "10.0.0.3"}, "X-Real-Ip": {"203.0.113.67"},
	})
	if got, want := store.keys(), []string{"192.0.2.7", "127.0.0.1"}; !slices.Equal(got, want) {
		t.Errorf("got the keys %q, want %q", got, want)
	}
}

// oddContext cannot be compared: == on two of them panics.
type oddContext struct {
	context.Context
	tags map[string]string
}

func TestContextThatCannotBeCompared(t *testing.T) {
	m, err := httplimit.New(httplimit.Config{Rules: []httplimit.Rule{
		{Name: "ip", Key: httplimit.ClientIP(), Limit: limiter.PerDay(1)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	e := newEcho()
	e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c *echo.Context) error {
			c.SetRequest(c.Request().WithContext(oddContext{c.Request().Context(), map[string]string{}}))
			return next(c)
		}
	}, echo5limit.New(m))
	e.GET("/", hello)
	if a := get(t, serve(t, e)); a.StatusCode != http.StatusOK {
		t.Errorf("got %s, want 200", a.Status)
	}
}

func TestStoreDown(t *testing.T) {
	e := newEcho()
	e.Use(echo5limit.New(limit(t, broken{}, httplimit.Rule{Name: "ip", Failure: httplimit.FailClosed})))
	e.GET("/", hello)
	a := get(t, serve(t, e))
	if a.StatusCode != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" ||
		a.Header.Get("RateLimit") != "" {
		t.Errorf("got %s %v, want 503 with Retry-After alone", a.Status, a.Header)
	}
}

type broken struct{ limiter.Store }

func (broken) Take(context.Context, []limiter.Charge) (bool, error) { return false, errors.New("down") }

// TestRequestIsWhatRulesSee: a page that tells users their quota finds the counters that their requests are counted by.
func TestRequestIsWhatRulesSee(t *testing.T) {
	user := httplimit.KeyFunc(func(r *http.Request) (string, error) {
		c, ok := echo5limit.From(r)
		if !ok {
			return "", errors.New("there is no context")
		}
		return c.Get("user").(string), nil
	})
	lb := httplimit.ClientIP(netip.MustParsePrefix("127.0.0.0/8"))
	m := limit(t, nil,
		httplimit.Rule{Name: "user", Key: user, Limit: limiter.PerDay(10)},
		httplimit.Rule{Name: "route", Key: httplimit.Route(), Limit: limiter.PerDay(20)},
		httplimit.Rule{Name: "address", Key: lb, Limit: limiter.PerDay(30)},
		httplimit.Rule{Name: "token", Key: httplimit.APIKey("X-Token"), Limit: limiter.PerDay(40)})
	var told []httplimit.Verdict
	var address netip.Addr
	e := newEcho()
	e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c *echo.Context) error { c.Set("user", c.QueryParam("user")); return next(c) }
	}, echo5limit.New(m))
	e.GET("/items/:id", func(c *echo.Context) error {
		var err error
		if told, err = m.PeekRequest(echo5limit.Request(c)); err != nil {
			t.Error(err)
		}
		if address, err = httplimit.ClientAddr(lb, echo5limit.Request(c)); err != nil {
			t.Error(err)
		}
		return nil
	})
	url := serve(t, e)
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
