package httplimit_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
)

// The plan of a tenant decides. Plans of one algorithm and window share a counter, so a change of the plan keeps what
// was spent.
func ExampleRule_limitFunc() {
	plans := map[string]limiter.Limit{"acme": limiter.PerMinute(600)}
	m, err := httplimit.New(httplimit.Config{Rules: []httplimit.Rule{{
		Name:  "plan",
		Key:   httplimit.ContextValue(tenantKey{}),
		Limit: limiter.PerMinute(60),
		LimitFunc: func(r *http.Request) (limiter.Limit, error) {
			tenant, _ := r.Context().Value(tenantKey{}).(string)
			plan, ok := plans[tenant]
			if !ok {
				return limiter.Limit{}, fmt.Errorf("tenant %q has no plan", tenant) // Limit holds
			}
			return plan, nil
		},
	}}})
	if err != nil {
		log.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Authorization", "Bearer t0k3n")
	w := httptest.NewRecorder()
	authenticate(m.Handler(hello)).ServeHTTP(w, r)
	fmt.Println(w.Header().Get("RateLimit-Policy"))
	// Output: "plan";q=600;w=60
}

// Plans declares what LimitFunc may return beside Limit: New checks the limits, and Reset frees a customer whatever its
// plan is, also from a process that has never served it.
func ExampleRule_plans() {
	free, pro := limiter.PerMinute(60), limiter.PerHour(2)
	rule := httplimit.Rule{
		Name: "plan", Key: httplimit.ContextValue(tenantKey{}), Limit: free, Plans: []limiter.Limit{pro},
		LimitFunc: func(*http.Request) (limiter.Limit, error) { return pro, nil }, // from the tenants' database
	}
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	service := httplimit.Must(httplimit.New(httplimit.Config{Store: store, Rules: []httplimit.Rule{rule}}))
	backOffice := httplimit.Must(httplimit.New(httplimit.Config{Store: store, Rules: []httplimit.Rule{rule}}))
	h := authenticate(service.Handler(hello))
	for range 3 {
		show(h, "Authorization", "Bearer t0k3n")
	}
	if err := backOffice.Reset(context.Background(), "plan", "acme"); err != nil {
		log.Fatal(err)
	}
	show(h, "Authorization", "Bearer t0k3n")
	// Output:
	// 200
	// 200
	// 429
	// 200
}

// A new limit is put in force for a tenth of the users first. The others are only reported, as by Shadow. Who is in
// stays in when the percentage grows.
func ExampleRule_percent() {
	limits := func(percent int) httplimit.Config {
		return httplimit.Config{Rules: []httplimit.Rule{{
			Name: "user", Key: httplimit.Header("X-User"), Limit: limiter.PerDay(1), Percent: percent,
		}}}
	}
	m := httplimit.Must(httplimit.New(limits(10)))
	h := m.Handler(hello)
	refused := func() (users int) {
		for i := range 1000 {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.Header.Set("X-User", fmt.Sprint("user", i))
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code == http.StatusTooManyRequests {
				users++
			}
		}
		return users
	}
	refused() // the first request of each
	fmt.Println("second requests refused at 10 %:", refused() > 50 && refused() < 150)
	if err := m.Reconfigure(limits(100)); err != nil {
		log.Fatal(err)
	}
	fmt.Println("at 100 %:", refused())
	// Output:
	// second requests refused at 10 %: true
	// at 100 %: 1000
}

// Writing costs five times as much as reading, and a health check nothing.
func ExampleRule_cost() {
	m, err := httplimit.New(httplimit.Config{Rules: []httplimit.Rule{{
		Name:  "units",
		Key:   httplimit.ClientIP(),
		Limit: limiter.PerDay(10),
		Cost: func(r *http.Request) (int64, error) {
			switch {
			case r.URL.Path == "/healthz":
				return 0, httplimit.ErrSkip
			case r.Method == http.MethodGet:
				return 1, nil
			}
			return 5, nil
		},
	}}})
	if err != nil {
		log.Fatal(err)
	}
	h := m.Handler(hello)
	for _, line := range []string{"GET /", "POST /", "POST /", "GET /", "GET /healthz"} {
		method, path, _ := strings.Cut(line, " ")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		fmt.Println(line, w.Code)
	}
	// Output:
	// GET / 200
	// POST / 200
	// POST / 429
	// GET / 200
	// GET /healthz 200
}

// Only wrong passwords count. The rule is Private, since the user name is a mere claim: nobody learns from the fields
// how often somebody else has failed.
func ExampleRule_countStatus() {
	m, err := httplimit.New(httplimit.Config{Rules: []httplimit.Rule{{
		Name:        "login",
		Key:         httplimit.Compose(httplimit.ClientIP(), httplimit.BasicUser()),
		Limit:       limiter.PerDay(2),
		CountStatus: func(status int) bool { return status == http.StatusUnauthorized },
		Private:     true,
	}}})
	if err != nil {
		log.Fatal(err)
	}
	h := m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != "right" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	for _, password := range []string{"wrong", "right", "right", "wrong", "right"} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.SetBasicAuth("ann", password)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		fmt.Println(password, w.Code, w.Header()["Ratelimit"])
	}
	// Output:
	// wrong 401 []
	// right 200 []
	// right 200 []
	// wrong 401 []
	// right 429 []
}

// A Shadow rule refuses nothing. The log and the Observer report what it would have refused.
func ExampleRule_shadow() {
	seen := counts{}
	m, err := httplimit.New(httplimit.Config{Observer: seen, Rules: []httplimit.Rule{
		{Name: "shadow", Key: httplimit.ClientIP(), Limit: limiter.PerDay(1), Shadow: true},
	}})
	if err != nil {
		log.Fatal(err)
	}
	h := m.Handler(hello)
	fmt.Println(visit(h, "/").Code, visit(h, "/").Code, visit(h, "/").Code)
	fmt.Println(seen)
	// Output:
	// 200 200 200
	// map[shadow allowed store:1 shadow shadow_refused store:2]
}

// The office is exempt. Behind a proxy it is the client's address that counts, so both get the same key.
func ExampleNotFrom() {
	client := httplimit.ClientIP(netip.MustParsePrefix("192.0.2.0/24")) // the proxies' network
	office := netip.MustParsePrefix("203.0.113.0/24")
	m, err := httplimit.New(httplimit.Config{Rules: []httplimit.Rule{
		{Name: "ip", Key: client, Limit: limiter.PerDay(1), When: httplimit.NotFrom(client, office)},
	}})
	if err != nil {
		log.Fatal(err)
	}
	h := m.Handler(hello)
	for _, address := range []string{"203.0.113.9", "203.0.113.9", "198.51.100.7", "198.51.100.7"} {
		show(h, "X-Forwarded-For", address)
	}
	// Output:
	// 200
	// 200
	// 200
	// 429
}

// A deny list: the limit of 0 lets nothing pass, and OnlyFrom says whom it is for. Private keeps the list from its
// clients. Behind a proxy it is the client's address that counts, so OnlyFrom and Key get the same key.
func ExampleOnlyFrom() {
	client := httplimit.ClientIP(netip.MustParsePrefix("192.0.2.0/24")) // the proxies' network
	banned := []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("2001:db8:bad::/48")}
	m, err := httplimit.New(httplimit.Config{Rules: []httplimit.Rule{
		{
			Name:    "banned",
			Key:     client,
			Limit:   limiter.PerMinute(0),
			When:    httplimit.OnlyFrom(client, banned...),
			Private: true,
		},
		{Name: "ip", Key: client, Limit: limiter.PerMinute(100)},
	}})
	if err != nil {
		log.Fatal(err)
	}
	h := m.Handler(hello)
	for _, address := range []string{"203.0.113.9", "2001:db8:bad::1", "198.51.100.7"} {
		show(h, "X-Forwarded-For", address)
	}
	// Output:
	// 429
	// 429
	// 200
}

// A suspended tenant: a limit of 0 refuses all of its requests, and tells no time at which to come back. What it has
// spent stays counted until it is let in again.
func ExampleRule_suspended() {
	suspended := map[string]bool{"acme": true} // from the tenants' database
	m, err := httplimit.New(httplimit.Config{Rules: []httplimit.Rule{{
		Name:  "tenant",
		Key:   httplimit.Header("X-Tenant"), // that authentication has checked
		Limit: limiter.PerMinute(600),
		LimitFunc: func(r *http.Request) (limiter.Limit, error) {
			if suspended[r.Header.Get("X-Tenant")] {
				return limiter.PerMinute(0), nil
			}
			return limiter.PerMinute(600), nil
		},
	}}})
	if err != nil {
		log.Fatal(err)
	}
	h := m.Handler(hello)
	show(h, "X-Tenant", "acme")
	show(h, "X-Tenant", "umbrella")
	// Output:
	// 429
	// 200
}
