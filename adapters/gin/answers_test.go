package ginlimit_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/httplimit/httplimit"
	ginlimit "github.com/httplimit/httplimit/adapters/gin"
	"github.com/httplimit/httplimit/limiter"
)

func TestAllowedThenRefused(t *testing.T) {
	engine, served := newEngine(), 0
	engine.Use(ginlimit.New(limit(t, nil, httplimit.Rule{Name: "ip", Limit: limiter.PerDay(2)})))
	engine.GET("/", func(c *gin.Context) { served++; hello(c) })
	url := serve(t, engine)

	for i, want := range []string{`"ip";r=1;t=`, `"ip";r=0;t=`} {
		a := get(t, url)
		if a.StatusCode != http.StatusOK || a.body != "hello" {
			t.Fatalf("request %d: got %d %q, want 200 hello", i+1, a.StatusCode, a.body)
		}
		if got := a.Header.Get("RateLimit"); !strings.HasPrefix(got, want) {
			t.Errorf("request %d: RateLimit: got %s, want %s...", i+1, got, want)
		}
		if got, want := a.Header.Get("RateLimit-Policy"), `"ip";q=2;w=86400`; got != want {
			t.Errorf("request %d: RateLimit-Policy: got %s, want %s", i+1, got, want)
		}
	}
	checkRefusal(t, get(t, url), "ip")
	if served != 2 {
		t.Errorf("the handler ran %d times, want 2", served)
	}
}

func checkRefusal(t *testing.T, a answer, rules ...string) {
	t.Helper()
	if a.StatusCode != http.StatusTooManyRequests || a.Header.Get("Retry-After") == "" ||
		a.Header.Get("Cache-Control") != "no-store" || a.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("got %s with %v, want 429 with Retry-After, Cache-Control and the type of a problem", a.Status, a.Header)
	}
	var problem struct {
		Type     string
		Status   int
		Violated []string `json:"violated-policies"`
	}
	if err := json.Unmarshal([]byte(a.body), &problem); err != nil {
		t.Fatalf("the body %q is no JSON: %v", a.body, err)
	}
	if !strings.HasSuffix(problem.Type, "#quota-exceeded") || problem.Status != 429 ||
		!slices.Equal(problem.Violated, rules) {
		t.Errorf("got the problem %+v, want quota-exceeded with status 429 and violated policies %q", problem, rules)
	}
}

func TestRefusedHEADHasNoBody(t *testing.T) {
	engine := newEngine()
	engine.Use(ginlimit.New(limit(t, nil, httplimit.Rule{Name: "ip", Limit: limiter.PerDay(1)})))
	engine.HEAD("/", func(c *gin.Context) { c.Status(http.StatusNoContent) })
	url := serve(t, engine)
	if a := send(t, http.MethodHead, url, nil); a.StatusCode != http.StatusNoContent {
		t.Fatalf("got %s, want 204", a.Status)
	}
	a := send(t, http.MethodHead, url, nil)
	if a.StatusCode != http.StatusTooManyRequests || a.Header.Get("Retry-After") == "" || a.body != "" {
		t.Errorf("got %s %v %q, want 429 with Retry-After and no body", a.Status, a.Header, a.body)
	}
}

func TestRulesAreDecidedTogether(t *testing.T) {
	engine := newEngine()
	engine.Use(ginlimit.New(limit(t, nil,
		httplimit.Rule{Name: "burst", Limit: limiter.PerMinute(1)},
		httplimit.Rule{Name: "day", Limit: limiter.PerDay(5)})))
	engine.GET("/", hello)
	url := serve(t, engine)
	get(t, url)
	for range 3 {
		checkRefusal(t, get(t, url), "burst")
	}
	a := get(t, url)
	if got, want := a.Header.Values("RateLimit-Policy"), []string{`"burst";q=1;w=60, "day";q=5;w=86400`}; !slices.Equal(
		got,
		want,
	) {
		t.Errorf("RateLimit-Policy: got %q, want %q", got, want)
	}
}

func TestOnDeny(t *testing.T) {
	engine := newEngine()
	own := ginlimit.Config{OnDeny: func(c *gin.Context, d httplimit.Denial) {
		v, _ := d.Rule()
		c.JSON(d.Status, gin.H{"rule": v.Rule}) // and no Abort: the adapter sees to it
	}}
	engine.Use(ginlimit.New(limit(t, nil, httplimit.Rule{Name: "ip", Limit: limiter.PerDay(1)}), ginlimit.Config{}, own))
	engine.GET("/", hello)
	url := serve(t, engine)
	get(t, url)
	a := get(t, url)
	if a.StatusCode != http.StatusTooManyRequests || a.body != `{"rule":"ip"}` || a.Header.Get("Retry-After") == "" {
		t.Errorf(
			"got %s %q with Retry-After %q, want 429, OnDeny's body alone and the fields",
			a.Status,
			a.body,
			a.Header.Get("Retry-After"),
		)
	}
}

func TestTwoMiddlewaresCountOnceEach(t *testing.T) {
	store := newSpy(t)
	outer := limit(t, store, httplimit.Rule{Name: "outer"})
	inner := limit(t, store, httplimit.Rule{Name: "inner"})
	engine := newEngine()
	engine.Use(ginlimit.New(outer))
	var seen []string
	engine.GET("/", ginlimit.New(inner), func(c *gin.Context) {
		for _, v := range httplimit.Verdicts(c.Request.Context()) {
			seen = append(seen, v.Rule)
		}
		hello(c)
	})
	a := get(t, serve(t, engine))
	if got := a.Header.Values("RateLimit"); len(got) != 2 || !strings.Contains(got[0], "outer") ||
		!strings.Contains(got[1], "inner") {
		t.Errorf("RateLimit: got %q, want a line of each", got)
	}
	if got := a.Header.Values("RateLimit-Policy"); len(got) != 2 {
		t.Errorf("RateLimit-Policy: got %q, want a line of each", got)
	}
	if taken, _ := store.spent(); taken != 2 {
		t.Errorf("the store was asked %d times, want 2", taken)
	}
	if want := []string{"outer", "inner"}; !slices.Equal(seen, want) {
		t.Errorf("the handler saw the rules %q, want %q", seen, want)
	}
}

func TestGroupsAndRoutes(t *testing.T) {
	engine := newEngine()
	m := limit(t, nil, httplimit.Rule{Name: "ip", Limit: limiter.PerDay(1)})
	engine.GET("/login", ginlimit.New(m), hello)
	engine.Group("/api", ginlimit.New(m)).GET("/users", hello)
	engine.GET("/health", hello)
	url := serve(t, engine)
	for _, c := range []struct {
		path string
		want int
	}{{"/health", 200}, {"/login", 200}, {"/api/users", 429}, {"/login", 429}, {"/health", 200}, {"/none", 404}} {
		if a := get(t, url+c.path); a.StatusCode != c.want {
			t.Errorf("%s: got %s, want %d", c.path, a.Status, c.want)
		}
	}
}

func TestRefusalBeforeALongBodyClosesTheConnection(t *testing.T) {
	engine := newEngine()
	engine.Use(ginlimit.New(limit(t, nil, httplimit.Rule{Name: "ip", Limit: limiter.PerDay(1)})))
	engine.POST("/", hello)
	url := serve(t, engine)
	for _, wantClose := range []bool{false, true} {
		response, err := http.Post(url, "text/plain", strings.NewReader(strings.Repeat("x", 100<<10)))
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.Close != wantClose {
			t.Errorf("%s: closes is %v, want %v", response.Status, response.Close, wantClose)
		}
	}
}
