package fiber3limit_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v3"
	"github.com/httplimit/httplimit"
	fiber3limit "github.com/httplimit/httplimit/adapters/fiber3"
	"github.com/httplimit/httplimit/limiter"
)

func TestAllowedThenRefused(t *testing.T) {
	app, served := newApp(), 0
	app.Use(fiber3limit.New(limit(t, nil, httplimit.Rule{Name: "ip", Limit: limiter.PerDay(2)})))
	app.Get("/", func(c fiber.Ctx) error { served++; return hello(c) })
	url := serve(t, app)

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
	app := newApp()
	app.Use(fiber3limit.New(limit(t, nil, httplimit.Rule{Name: "ip", Limit: limiter.PerDay(1)})))
	app.Head("/", func(c fiber.Ctx) error { return c.SendStatus(http.StatusNoContent) })
	url := serve(t, app)
	if a := send(t, http.MethodHead, url, nil); a.StatusCode != http.StatusNoContent {
		t.Fatalf("got %s, want 204", a.Status)
	}
	a := send(t, http.MethodHead, url, nil)
	if a.StatusCode != http.StatusTooManyRequests || a.Header.Get("Retry-After") == "" || a.body != "" {
		t.Errorf("got %s %v %q, want 429 with Retry-After and no body", a.Status, a.Header, a.body)
	}
}

func TestRulesAreDecidedTogether(t *testing.T) {
	app := newApp()
	app.Use(fiber3limit.New(limit(t, nil,
		httplimit.Rule{Name: "burst", Limit: limiter.PerMinute(1)},
		httplimit.Rule{Name: "day", Limit: limiter.PerDay(5)})))
	app.Get("/", hello)
	url := serve(t, app)
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
		onDeny func(fiber.Ctx, httplimit.Denial) error
		want   string
	}{
		"writes": {func(c fiber.Ctx, d httplimit.Denial) error {
			v, _ := d.Rule()
			return c.Status(d.Status).JSON(fiber.Map{"rule": v.Rule})
		}, `{"rule":"ip"}`},
		"returns an error": {func(_ fiber.Ctx, d httplimit.Denial) error {
			return fiber.NewError(d.Status, "slow down")
		}, `slow down`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			app := newApp()
			m := limit(t, nil, httplimit.Rule{Name: "ip", Limit: limiter.PerDay(1)})
			app.Use(fiber3limit.New(m, fiber3limit.Config{}, fiber3limit.Config{OnDeny: tt.onDeny}))
			app.Get("/", hello)
			url := serve(t, app)
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

func TestTwoMiddlewaresCountOnceEach(t *testing.T) {
	store := newSpy(t)
	outer := limit(t, store, httplimit.Rule{Name: "outer"})
	inner := limit(t, store, httplimit.Rule{Name: "inner"})
	app := newApp()
	app.Use(fiber3limit.New(outer))
	var seen []string
	app.Get("/", fiber3limit.New(inner), func(c fiber.Ctx) error {
		for _, v := range httplimit.Verdicts(c.Context()) {
			seen = append(seen, v.Rule)
		}
		return hello(c)
	})
	a := get(t, serve(t, app))
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
	app := newApp()
	m := limit(t, nil, httplimit.Rule{Name: "ip", Limit: limiter.PerDay(1)})
	app.Get("/login", fiber3limit.New(m), hello)
	app.Group("/api", fiber3limit.New(m)).Get("/users", hello)
	app.Get("/health", hello)
	url := serve(t, app)
	for _, c := range []struct {
		path string
		want int
	}{{"/health", 200}, {"/login", 200}, {"/api/users", 429}, {"/login", 429}, {"/health", 200}, {"/none", 404}} {
		if a := get(t, url+c.path); a.StatusCode != c.want {
			t.Errorf("%s: got %s, want %d", c.path, a.Status, c.want)
		}
	}
}

// fasthttp reads on where the handler stopped: what is left of a body would be the next request.
func TestRefusalWithAStreamedBodyEndsTheConnection(t *testing.T) {
	served := false
	app := newApp(fiber.Config{StreamRequestBody: true, BodyLimit: 1 << 10})
	app.Post(
		"/",
		fiber3limit.New(
			limit(
				t,
				nil,
				httplimit.Rule{Name: "ip", Limit: limiter.PerDay(1), Cost: func(*http.Request) (int64, error) { return 2, nil }},
			),
		),
		hello,
	)
	app.Get("/smuggled", func(fiber.Ctx) error { served = true; return nil })
	const inner = "GET /smuggled HTTP/1.1\nHost: x\nConnection: close\n\n"
	length := 8<<10 + len(strings.ReplaceAll(inner, "\n", "\r\n"))
	answers := raw(t, "tcp", listen(t, app, "tcp", "127.0.0.1:0").String(),
		fmt.Sprintf("POST / HTTP/1.1\nHost: x\nContent-Length: %d\n\n", length)+strings.Repeat("x", 8<<10)+inner)
	if got := strings.Count(answers, "HTTP/1.1 "); got != 1 || served || !strings.Contains(answers, "Connection: close") {
		t.Errorf("got %d answers, served %v, want one that closes:\n%s", got, served, answers)
	}
}
