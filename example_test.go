package httplimit_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// visit sends one GET request from 192.0.2.1.
func visit(h http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

// One line of protection: each client address two requests a minute, counted in memory.
func ExamplePerIP() {
	limit := httplimit.PerIP(2, time.Minute)
	h := limit(hello)
	for range 3 {
		fmt.Println(visit(h, "/").Code)
	}
	// Output:
	// 200
	// 200
	// 429
}

// One line for any other key: each user two requests a minute, and each address those that it sends without a user.
func ExamplePerKey() {
	limit := httplimit.PerKey(2, time.Minute, httplimit.Header("X-User")) // that authentication has written
	h := limit(hello)
	for range 3 {
		show(h, "X-User", "ann")
	}
	show(h, "X-User", "bob")
	// Output:
	// 200
	// 200
	// 429
	// 200
}

// Must saves the error of a configuration that stands in the program: a fault is found when it starts.
func ExampleMust() {
	m := httplimit.Must(httplimit.New(httplimit.Config{Rules: []httplimit.Rule{
		{Name: "ip", Key: httplimit.ClientIP(), Limit: limiter.PerDay(1)},
	}}))
	h := m.Handler(hello)
	fmt.Println(visit(h, "/").Code, visit(h, "/").Code)
	// Output: 200 429
}

// Several rules are decided in one step: a request that one of them refuses spends nothing of the others.
func ExampleNew() {
	m, err := httplimit.New(httplimit.Config{Rules: []httplimit.Rule{
		{Name: "hourly", Key: httplimit.ClientIP(), Limit: limiter.PerDay(2)},
		{Name: "daily", Key: httplimit.ClientIP(), Limit: limiter.PerDay(1000)},
	}})
	if err != nil {
		log.Fatal(err)
	}
	h := m.Handler(hello)
	visit(h, "/")
	fmt.Println(visit(h, "/").Header().Get("RateLimit-Policy"))
	w := visit(h, "/")
	fmt.Println(w.Code, w.Header().Get("Content-Type"))
	problem, _, _ := strings.Cut(w.Body.String(), `,"retry_after"`) // which depends on the time of day
	fmt.Println(problem)
	// Output:
	// "hourly";q=2;w=86400, "daily";q=1000;w=86400
	// 429 application/problem+json
	// {"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Request cannot be satisfied as assigned quota has been exceeded","status":429,"violated-policies":["hourly"],"limits":[{"policy":"hourly","quota":2,"window":86400}]
}

// Every fault of a configuration is reported at once, with its place.
func ExampleNew_faults() {
	_, err := httplimit.New(
		httplimit.Config{Instances: -1, Rules: []httplimit.Rule{{Name: "ip", Limit: limiter.PerDay(2)}}},
	)
	fmt.Println(err)
	// Output:
	// httplimit: Instances: -1 is negative, want the number of processes that share the Store
	// httplimit: Rules[0] "ip".Key: it is nil, want a Key
}

// A Middleware may stand around some routes only, and around as many handlers as there are: it counts them together.
func ExampleMiddleware_Handler() {
	m, err := httplimit.New(httplimit.Config{Rules: []httplimit.Rule{
		{Name: "reports", Key: httplimit.ClientIP(), Limit: limiter.PerDay(2)},
	}})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /reports/daily", m.Handler(hello))
	mux.Handle("GET /reports/yearly", m.Handler(hello))
	mux.Handle("GET /", hello)
	for _, path := range []string{"/reports/daily", "/reports/daily", "/reports/yearly", "/"} {
		fmt.Println(path, visit(mux, path).Code)
	}
	// Output:
	// /reports/daily 200
	// /reports/daily 200
	// /reports/yearly 429
	// / 200
}

// What was spent stays spent when a limit changes, and a faulty configuration changes nothing.
func ExampleMiddleware_Reconfigure() {
	perHour := func(n int64) httplimit.Config {
		return httplimit.Config{Rules: []httplimit.Rule{{Name: "ip", Key: httplimit.ClientIP(), Limit: limiter.PerDay(n)}}}
	}
	m, err := httplimit.New(perHour(2))
	if err != nil {
		log.Fatal(err)
	}
	left := func() {
		v, err := m.Peek(context.Background(), "ip", "192.0.2.1")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(v.Remaining, "of", v.Limit)
	}
	visit(m.Handler(hello), "/")
	left()
	if err := m.Reconfigure(perHour(10)); err != nil {
		log.Fatal(err)
	}
	left()
	fmt.Println(m.Reconfigure(perHour(-1)) != nil)
	left()
	// Output:
	// 1 of 2/d
	// 9 of 10/d
	// true
	// 9 of 10/d
}

// Several Middlewares change together or not at all: all new configurations are checked before the first is in force.
func ExampleConfig_Validate() {
	config := func(name string, n int64) httplimit.Config {
		return httplimit.Config{Namespace: "shop", Rules: []httplimit.Rule{
			{Name: name, Key: httplimit.ClientIP(), Limit: limiter.PerDay(n)},
		}}
	}
	outside, err := httplimit.New(config("address", 300))
	if err != nil {
		log.Fatal(err)
	}
	inside, err := httplimit.New(config("login", 5))
	if err != nil {
		log.Fatal(err)
	}
	reload := func(address, login httplimit.Config) error {
		if err := errors.Join(address.Validate(), login.Validate()); err != nil {
			return err
		}
		return errors.Join(outside.Reconfigure(address), inside.Reconfigure(login))
	}
	faulty := config("login", 10)
	faulty.Rules[0].Key = nil
	fmt.Println(reload(config("address", 600), faulty))
	v, err := outside.Peek(context.Background(), "address", "192.0.2.1")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("still", v.Limit)
	// Output:
	// httplimit: namespace "shop": Rules[0] "login".Key: it is nil, want a Key
	// still 300/d
}

// down is a store that cannot be reached.
type down struct{}

func (down) Take(context.Context, []limiter.Charge) (bool, error) {
	return false, errors.New("connection refused")
}
func (down) Reset(context.Context, []limiter.Charge) error { return errors.New("connection refused") }

// A readiness page tells which rules their store cannot decide at present.
func ExampleMiddleware_Health() {
	m, err := httplimit.New(httplimit.Config{
		Store:  down{},
		Logger: slog.New(slog.DiscardHandler),
		Rules: []httplimit.Rule{
			{Name: "ip", Key: httplimit.ClientIP(), Limit: limiter.PerDay(2), Failure: httplimit.FailOpen},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(m.Health()), "at the start")
	fmt.Println(visit(m.Handler(hello), "/").Code)
	for _, ill := range m.Health() {
		fmt.Println(ill.Rule, ill.Policy, ill.Err)
	}
	// Output:
	// 0 at the start
	// 200
	// ip fail-open connection refused
}
