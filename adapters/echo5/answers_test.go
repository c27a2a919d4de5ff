package echo5limit_test

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/httplimit/httplimit"
	echo5limit "github.com/httplimit/httplimit/adapters/echo5"
	"github.com/httplimit/httplimit/limiter"
	"github.com/labstack/echo/v5"
)

func TestAllowedThenRefused(t *testing.T) {
	e, served := newEcho(), 0
	e.Use(echo5limit.New(limit(t, nil, httplimit.Rule{Name: "ip", Limit: limiter.PerDay(2)})))
	e.GET("/", func(c *echo.Context) error { served++; return hello(c) })
	url := serve(t, e)

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
	e := newEcho()
	e.Use(echo5limit.New(limit(t, nil, httplimit.Rule{Name: "ip", Limit: limiter.PerDay(1)})))
	e.HEAD("/", func(c *echo.Context) error { return c.NoContent(http.StatusNoContent) })
	url := serve(t, e)
	if a := send(t, http.MethodHead, url, nil); a.StatusCode != http.StatusNoContent {
		t.Fatalf("got %s, want 204", a.Status)
	}
	a := send(t, http.MethodHead, url, nil)
	if a.StatusCode != http.StatusTooManyRequests || a.Header.Get("Retry-After") == "" || a.body != "" {
		t.Errorf("got %s %v %q, want 429 with Retry-After and no body", a.Status, a.Header, a.body)
	}
}

func TestRulesAreDecidedTogether(t *testing.T) {
	e := newEcho()
	e.Use(echo5limit.New(limit(t, nil,
		httplimit.Rule{Name: "burst", Limit: limiter.PerMinute(1)},
		httplimit.Rule{Name: "day", Limit: limiter.PerDay(5)})))
	e.GET("/", hello)
	url := serve(t, e)
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
	tests := map[string]struct {
		onDeny func(*echo.Context, httplimit.Denial) error
		want   string
	}{
		"writes": {func(c *echo.Context, d httplimit.Denial) error {
			v, _ := d.Rule()
			return c.JSON(d.Status, map[string]any{"rule": v.Rule})
		}, `{"rule":"ip"}`},
		"returns an error": {func(_ *echo.Context, d httplimit.Denial) error {
			return echo.NewHTTPError(d.Status, "slow down")
		}, `{"message":"slow down"}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			e := newEcho()
			m := limit(t, nil, httplimit.Rule{Name: "ip", Limit: limiter.PerDay(1)})
			e.Use(echo5limit.New(m, echo5limit.Config{}, echo5limit.Config{OnDeny: tt.onDeny}))
			e.GET("/", hello)
			url := serve(t, e)
			get(t, url)
			a := get(t, url)
			if got := strings.TrimSpace(a.body); a.StatusCode != http.StatusTooManyRequests || got != tt.want ||
				a.Header.Get("Retry-After") == "" {
				t.Errorf(
					"got %s %s with Retry-After %q, want 429 %s and the fields",
					a.Status,
					got,
					a.Header.Get("Retry-After"),
					tt.want,
				)
			}
		})
	}
}

func TestErrorHandlerOfTheAppDecidesTheBody(t *testing.T) {
	e := newEcho()
	var text string
	e.HTTPErrorHandler = func(c *echo.Context, err error) {
		var refused *echo5limit.Refusal
		var plain *echo.HTTPError
		if !errors.As(err, &refused) || !errors.As(err, &plain) || plain.Code != refused.StatusCode() {
			t.Errorf("got %T, want a Refusal, and an HTTPError with its status", err)
			return
		}
		slog.New(slog.NewJSONHandler(io.Discard, nil)).Error("refused", "error", err) // labels no answer
		text = err.Error()
		v, _ := refused.Denial.Rule()
		_ = c.HTML(refused.Denial.Status, "<p>too many for "+v.Rule)
	}
	e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c *echo.Context) error {
			c.Response().Header().Set("X-Session", "secret")
			return next(c)
		}
	})
	e.Use(echo5limit.New(limit(t, nil, httplimit.Rule{Name: "ip", Limit: limiter.PerDay(1)})))
	e.GET("/", hello)
	url := serve(t, e)
	get(t, url)
	a := get(t, url)
	if a.StatusCode != http.StatusTooManyRequests || a.body != "<p>too many for ip" ||
		!strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") {
		t.Errorf("got %s %q as %s, want the app's page", a.Status, a.body, a.Header.Get("Content-Type"))
	}
	if a.Header.Get("Retry-After") == "" || a.Header.Get("RateLimit") == "" ||
		a.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("got the fields %v, want those of the refusal", a.Header)
	}
	if want := `refused with 429 by "ip", retry after `; !strings.HasPrefix(text, want) {
		t.Errorf("the error prints as %s, want %s...", text, want)
	}
	if strings.Contains(text, "secret") {
		t.Errorf("the error's text has the header in it: %s", text)
	}
}

func TestTwoMiddlewaresCountOnceEach(t *testing.T) {
	store := newSpy(t)
	outer := limit(t, store, httplimit.Rule{Name: "outer"})
	inner := limit(t, store, httplimit.Rule{Name: "inner"})
	e := newEcho()
	e.Use(echo5limit.New(outer))
	var seen []string
	e.GET("/", func(c *echo.Context) error {
		for _, v := range httplimit.Verdicts(c.Request().Context()) {
			seen = append(seen, v.Rule)
		}
		return hello(c)
	}, echo5limit.New(inner))
	a := get(t, serve(t, e))
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
	e := newEcho()
	m := limit(t, nil, httplimit.Rule{Name: "ip", Limit: limiter.PerDay(1)})
	e.GET("/login", hello, echo5limit.New(m))
	e.Group("/api", echo5limit.New(m)).GET("/users", hello)
	e.GET("/health", hello)
	url := serve(t, e)
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
	e := newEcho()
	e.Use(echo5limit.New(limit(t, nil, httplimit.Rule{Name: "ip", Limit: limiter.PerDay(1)})))
	e.POST("/", hello)
	url := serve(t, e)
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
