package httplimit_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// limitBy is a middleware of one rule: two requests an hour for each key.
func limitBy(key httplimit.Key) func(http.Handler) http.Handler {
	m, err := httplimit.New(httplimit.Config{Rules: []httplimit.Rule{{Name: "example", Key: key,
		Limit: limiter.PerDay(2)}}})
	if err != nil {
		panic(err)
	}
	return m.Handler
}

// show prints the status of the answer to a request from 192.0.2.1 with some header fields: name, value, name, value.
func show(h http.Handler, fields ...string) {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	for i := 0; i < len(fields); i += 2 {
		r.Header.Add(fields[i], fields[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	fmt.Println(w.Code)
}

var hello = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })

type tenantKey struct{}

// authenticate stands for the authentication of a service: it refuses tokens that it does not know, and tells
// handlers whose token it was.
func authenticate(next http.Handler) http.Handler {
	tenants := map[string]string{"Bearer t0k3n": "acme"}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tenant, ok := tenants[r.Header.Get("Authorization")]
		if !ok {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), tenantKey{}, tenant)))
	})
}

// The classic mistake: a credential that nobody has checked as a key. Each token that a client invents is a key of its
// own, so that the limit holds nobody.
func ExampleFirstOf_wrong() {
	wrong := limitBy(httplimit.FirstOf(httplimit.BearerToken(), httplimit.ClientIP()))(authenticate(hello))
	for _, guess := range []string{"a", "b", "c", "d"} {
		show(wrong, "Authorization", "Bearer "+guess)
	}
	// Output:
	// 401
	// 401
	// 401
	// 401
}

// The right way: a limit by address in front of authentication, one by what authentication has found out behind it.
func ExampleFirstOf_right() {
	right := limitBy(httplimit.ClientIP())(authenticate(limitBy(httplimit.ContextValue(tenantKey{}))(hello)))
	for _, guess := range []string{"a", "b", "c", "d"} {
		show(right, "Authorization", "Bearer "+guess)
	}
	// Output:
	// 401
	// 401
	// 429
	// 429
}

// Behind authentication there may be several kinds of identity: keys of the one never equal keys of the other.
func ExampleFirstOf() {
	signedIn := httplimit.ContextValue(tenantKey{})
	h := authenticate(limitBy(httplimit.FirstOf(signedIn, httplimit.ClientCert()))(hello))
	for range 3 {
		show(h, "Authorization", "Bearer t0k3n")
	}
	// Output:
	// 200
	// 200
	// 429
}

// With the networks of the proxies it makes no difference what a client writes into the header: its address is what the
// proxy has appended.
func ExampleClientIP() {
	h := limitBy(httplimit.ClientIP(netip.MustParsePrefix("192.0.2.0/24")))(hello)
	show(h, "X-Forwarded-For", "198.51.100.7")
	show(h, "X-Forwarded-For", "6.6.6.6, 198.51.100.7")
	show(h, "X-Forwarded-For", "192.0.2.9, 198.51.100.7")
	// Output:
	// 200
	// 200
	// 429
}

// Behind Cloudflare. The networks are at https://www.cloudflare.com/ips/; whoever else connects is counted by the
// address it connects from.
func ExampleClientIPFrom() {
	cloudflare := []netip.Prefix{netip.MustParsePrefix("173.245.48.0/20"), netip.MustParsePrefix("2400:cb00::/32")}
	h := limitBy(httplimit.ClientIPFrom(httplimit.ClientIPConfig{Header: "CF-Connecting-IP",
		TrustedProxies: cloudflare}))(hello)
	for _, spoofed := range []string{"6.6.6.6", "7.7.7.7", "8.8.8.8"} {
		show(h, "CF-Connecting-IP", spoofed)
	}
	// Output:
	// 200
	// 200
	// 429
}

// The address for a log line is the one that the rules count, whatever a client has written into the header.
func ExampleClientAddr() {
	client := httplimit.ClientIP(netip.MustParsePrefix("10.0.0.0/8")) // the load balancer's network, also a rule's Key
	h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		addr, err := httplimit.ClientAddr(client, r)
		fmt.Println(addr, err)
	})
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RemoteAddr = "10.0.0.1:5678"
	r.Header.Set("X-Forwarded-For", "1.1.1.1, 203.0.113.9") // the client has written the first one
	h.ServeHTTP(httptest.NewRecorder(), r)
	// Output: 203.0.113.9 <nil>
}

// A key of one's own. Subjects are unique only for their issuer, so both are parts of the key.
func ExampleKeyFunc() {
	type claims struct{ issuer, subject string }
	type claimsKey struct{}
	verified := func(r *http.Request) (claims, bool) {
		c, ok := r.Context().Value(claimsKey{}).(claims)
		return c, ok
	}
	issuer := httplimit.KeyFunc(func(r *http.Request) (string, error) {
		c, ok := verified(r)
		if !ok {
			return "", httplimit.ErrNoKey
		}
		return c.issuer, nil
	})
	subject := httplimit.KeyFunc(func(r *http.Request) (string, error) {
		c, _ := verified(r)
		return c.subject, nil
	})
	h := limitBy(httplimit.Compose(issuer, subject))(hello)
	for _, id := range []string{"42", "42", "42", "43"} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r = r.WithContext(context.WithValue(r.Context(), claimsKey{}, claims{"https://id.example", id}))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		fmt.Println(id, w.Code)
	}
	// Output:
	// 42 200
	// 42 200
	// 42 429
	// 43 200
}

// One bucket for each client and route. Around the mux, RouteOf asks it.
func ExampleRouteOf() {
	mux := http.NewServeMux()
	mux.Handle("GET /reports/{id}", hello)
	mux.Handle("GET /items/{id}", hello)
	h := limitBy(httplimit.Compose(httplimit.ClientIP(), httplimit.RouteOf(mux)))(mux)
	for _, path := range []string{"/reports/1", "/reports/2", "/reports/3", "/items/1"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		fmt.Println(path, w.Code)
	}
	// Output:
	// /reports/1 200
	// /reports/2 200
	// /reports/3 429
	// /items/1 200
}

// A router that has its own way to tell a pattern is asked by a function. It must return what the application has
// registered, never a part of the path, which a client can write in any number of ways.
func ExampleRouteFrom() {
	patterns := map[string]string{"users": "/users/{id}", "items": "/items/{id}"}
	router := func(r *http.Request) string {
		first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		return patterns[first] // "" where there is no route
	}
	h := limitBy(httplimit.Compose(httplimit.ClientIP(), httplimit.RouteFrom(router)))(hello)
	for _, path := range []string{"/users/1", "/users/2", "/users/3", "/items/1"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		fmt.Println(path, w.Code)
	}
	// Output:
	// /users/1 200
	// /users/2 200
	// /users/3 429
	// /items/1 200
}

// What a header holds is nobody's secret in a store if it is hashed. Without Config.KeySecret that hides only what
// cannot be guessed.
func ExampleSecret() {
	h := limitBy(httplimit.Secret(httplimit.Header("X-Session")))(hello)
	show(h, "X-Session", "c2Vzc2lvbg")
	// Output: 200
}
