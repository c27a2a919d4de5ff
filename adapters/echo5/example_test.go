package echo5limit_test

import (
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/httplimit/httplimit"
	echo5limit "github.com/httplimit/httplimit/adapters/echo5"
	"github.com/httplimit/httplimit/limiter"
	"github.com/labstack/echo/v5"
)

func ExampleNew() {
	m, err := httplimit.New(httplimit.Config{Rules: []httplimit.Rule{
		{Name: "ip", Key: httplimit.ClientIP(), Limit: limiter.PerMinute(2)},
	}})
	if err != nil {
		log.Fatal(err)
	}
	e := echo.New()
	e.Use(echo5limit.New(m))
	e.GET("/", func(c *echo.Context) error { return c.String(http.StatusOK, "hello") })

	for range 3 {
		w := httptest.NewRecorder()
		e.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		body, _, _ := strings.Cut(w.Body.String(), `,"retry_after"`) // which depends on the time of day
		fmt.Println(w.Code, strings.TrimSpace(body))
	}
	// Output:
	// 200 hello
	// 200 hello
	// 429 {"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Request cannot be satisfied as assigned quota has been exceeded","status":429,"violated-policies":["ip"],"limits":[{"policy":"ip","quota":2,"window":60}]
}

func ExampleConfig() {
	m, err := httplimit.New(httplimit.Config{Rules: []httplimit.Rule{
		{Name: "ip", Key: httplimit.ClientIP(), Limit: limiter.PerMinute(100), Cost: all},
	}})
	if err != nil {
		log.Fatal(err)
	}
	e := echo.New()
	e.Use(echo5limit.New(m, echo5limit.Config{OnDeny: func(c *echo.Context, d httplimit.Denial) error {
		rule, _ := d.Rule() // none where the rule is Private
		return c.String(d.Status, fmt.Sprintf("too many for %q", rule.Rule))
	}}))

	w := httptest.NewRecorder()
	e.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	fmt.Println(w.Code, strings.TrimSpace(w.Body.String()))
	// Output: 429 too many for "ip"
}

// An HTTPErrorHandler of the app decides what a refusal looks like.
func ExampleNew_errorHandler() {
	m, err := httplimit.New(httplimit.Config{Rules: []httplimit.Rule{
		{Name: "ip", Key: httplimit.ClientIP(), Limit: limiter.PerMinute(100), Cost: all},
	}})
	if err != nil {
		log.Fatal(err)
	}
	e := echo.New()
	standard := e.HTTPErrorHandler
	e.HTTPErrorHandler = func(c *echo.Context, err error) {
		var refused *echo5limit.Refusal
		if errors.As(err, &refused) {
			_ = c.HTML(refused.Denial.Status, "<h1>Slow down")
			return
		}
		standard(c, err)
	}
	e.Use(echo5limit.New(m))

	w := httptest.NewRecorder()
	e.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	fmt.Println(w.Code, w.Header().Get("Content-Type"), w.Body)
	// Output: 429 text/html; charset=UTF-8 <h1>Slow down
}

// all costs more than there is.
func all(*http.Request) (int64, error) { return 101, nil }

// The user is what earlier middleware has found out. Without one, the address is what counts.
func ExampleFrom() {
	user := func(r *http.Request) (string, error) {
		c, ok := echo5limit.From(r)
		if !ok {
			return "", httplimit.ErrNoKey
		}
		name, ok := c.Get("user").(string)
		if !ok {
			return "", httplimit.ErrNoKey
		}
		return name, nil
	}
	m, err := httplimit.New(httplimit.Config{Rules: []httplimit.Rule{
		{Name: "user", Key: httplimit.KeyFunc(user), Limit: limiter.PerMinute(1)},
	}})
	if err != nil {
		log.Fatal(err)
	}
	authenticate := func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c *echo.Context) error {
			c.Set("user", c.Request().Header.Get("X-Verified-User"))
			return next(c)
		}
	}
	e := echo.New()
	e.GET("/", func(c *echo.Context) error { return c.String(http.StatusOK, "hello") }, authenticate, echo5limit.New(m))

	for _, name := range []string{"alice", "bob", "alice"} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("X-Verified-User", name)
		e.ServeHTTP(w, r)
		fmt.Println(name, w.Code)
	}
	// Output:
	// alice 200
	// bob 200
	// alice 429
}
