package httplimit_test

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// The order of layers, from the outside in: recover, log, CORS, limit by address, authenticate, limit by identity, mux.
// CORS stands outside of the limiters, so that a script may read refusals too, and exposes their fields to it.
func ExampleHeaderStyle_Names() {
	const style = httplimit.RateLimitFields
	limit := func(rule httplimit.Rule) func(http.Handler) http.Handler {
		m, err := httplimit.New(httplimit.Config{Headers: style, Rules: []httplimit.Rule{rule}})
		if err != nil {
			log.Fatal(err)
		}
		return m.Handler
	}
	byAddress := limit(httplimit.Rule{Name: "address", Key: httplimit.ClientIP(), Limit: limiter.PerDay(100)})
	byTenant := limit(httplimit.Rule{Name: "tenant", Key: httplimit.ContextValue(tenantKey{}), Limit: limiter.PerDay(1)})
	mux := http.NewServeMux()
	mux.Handle("GET /", hello)

	h := recovered(logged(cors(style.Names(), byAddress(authenticate(byTenant(mux))))))
	for range 2 {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Origin", "https://app.example")
		r.Header.Set("Authorization", "Bearer t0k3n")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Header().Get("Access-Control-Expose-Headers"))
	}
	// Output:
	// GET /
	// 200 RateLimit, RateLimit-Policy, Retry-After
	// GET /
	// 429 RateLimit, RateLimit-Policy, Retry-After
}

// recovered stands for what answers 500 after a panic.
func recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if recover() != nil {
				w.WriteHeader(http.StatusInternalServerError)
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// logged stands for an access log.
func logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Method, r.URL.Path)
		next.ServeHTTP(w, r)
	})
}

// cors stands for a CORS library, all of which can be told which fields to expose.
func cors(expose []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "https://app.example")
		w.Header().Set("Access-Control-Expose-Headers", strings.Join(expose, ", "))
		next.ServeHTTP(w, r)
	})
}
