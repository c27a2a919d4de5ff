package ginlimit_test

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/httplimit/httplimit"
	ginlimit "github.com/httplimit/httplimit/adapters/gin"
	"github.com/httplimit/httplimit/limiter"
)

func ExampleNew() {
	m, err := httplimit.New(httplimit.Config{Rules: []httplimit.Rule{
		{Name: "ip", Key: httplimit.ClientIP(), Limit: limiter.PerMinute(2)},
	}})
	if err != nil {
		log.Fatal(err)
	}
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.Use(ginlimit.New(m))
	engine.GET("/", func(c *gin.Context) { c.String(http.StatusOK, "hello") })

	for range 3 {
		w := httptest.NewRecorder()
		engine.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		body, _, _ := strings.Cut(w.Body.String(), `,"retry_after"`) // which depends on the time of day
		fmt.Println(w.Code, body)
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
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.Use(ginlimit.New(m, ginlimit.Config{OnDeny: func(c *gin.Context, d httplimit.Denial) {
		rule, _ := d.Rule() // none where the rule is Private
		c.String(d.Status, "too many for %q", rule.Rule)
	}}))

	w := httptest.NewRecorder()
	engine.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	fmt.Println(w.Code, w.Body)
	// Output: 429 too many for "ip"
}

// all costs more than there is.
func all(*http.Request) (int64, error) { return 101, nil }

// The user is what earlier middleware has found out. Without one, the address is what counts.
func ExampleFrom() {
	user := func(r *http.Request) (string, error) {
		c, ok := ginlimit.From(r)
		if !ok || c.GetString("user") == "" {
			return "", httplimit.ErrNoKey
		}
		return c.GetString("user"), nil
	}
	m, err := httplimit.New(httplimit.Config{Rules: []httplimit.Rule{
		{Name: "user", Key: httplimit.KeyFunc(user), Limit: limiter.PerMinute(1)},
	}})
	if err != nil {
		log.Fatal(err)
	}
	authenticate := func(c *gin.Context) { c.Set("user", c.GetHeader("X-Verified-User")) }
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.GET("/", authenticate, ginlimit.New(m), func(c *gin.Context) { c.String(http.StatusOK, "hello") })

	for _, name := range []string{"alice", "bob", "alice"} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("X-Verified-User", name)
		engine.ServeHTTP(w, r)
		fmt.Println(name, w.Code)
	}
	// Output:
	// alice 200
	// bob 200
	// alice 429
}
