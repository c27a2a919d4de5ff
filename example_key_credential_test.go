package httplimit_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/httplimit/httplimit"
)

// Behind the authentication that has checked the token. It reaches the store as a hash.
func ExampleBearerToken() {
	h := authenticate(limitBy(httplimit.BearerToken())(hello))
	for range 3 {
		show(h, "Authorization", "Bearer t0k3n")
	}
	show(h, "Authorization", "Bearer guess")
	// Output:
	// 200
	// 200
	// 429
	// 401
}

// For keys that something in front has checked. A request without one is counted by the address it comes from: leaving
// the header out frees nobody.
func ExampleAPIKey() {
	h := limitBy(httplimit.APIKey("X-API-Key"))(hello)
	show(h, "X-API-Key", "k1")
	show(h, "X-API-Key", "k1")
	show(h, "X-API-Key", "k1")
	show(h)
	show(h)
	show(h)
	// Output:
	// 200
	// 200
	// 429
	// 200
	// 200
	// 429
}

// The session, wherever it stands among the cookies, for sessions that something in front has checked.
func ExampleCookie() {
	h := limitBy(httplimit.Cookie("session"))(hello)
	show(h, "Cookie", "session=c2Vzc2lvbg")
	show(h, "Cookie", "theme=dark; session=c2Vzc2lvbg")
	show(h, "Cookie", "session=c2Vzc2lvbg; theme=light")
	// Output:
	// 200
	// 200
	// 429
}

// A header that a proxy of one's own sets, in place of what the client may have written into it.
func ExampleHeader() {
	h := limitBy(httplimit.Header("X-Tenant"))(hello)
	show(h, "X-Tenant", "acme")
	show(h, "X-Tenant", "acme")
	show(h, "X-Tenant", "acme")
	show(h, "X-Tenant", "globex")
	// Output:
	// 200
	// 200
	// 429
	// 200
}

// Together with the address: by the name alone, strangers could lock a user out. See Rule.Private, too.
func ExampleBasicUser() {
	h := limitBy(httplimit.Compose(httplimit.ClientIP(), httplimit.BasicUser()))(hello)
	for _, user := range []string{"ann", "ann", "ann", "bob"} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.SetBasicAuth(user, "guess")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		fmt.Println(user, w.Code)
	}
	// Output:
	// ann 200
	// ann 200
	// ann 429
	// bob 200
}

// What authentication has put into the context.
func ExampleContextValue() {
	h := authenticate(limitBy(httplimit.ContextValue(tenantKey{}))(hello))
	for range 3 {
		show(h, "Authorization", "Bearer t0k3n")
	}
	// Output:
	// 200
	// 200
	// 429
}

// The client's certificate, if the server has verified it: a renewed one for the same public key is the same client.
func ExampleClientCert() {
	h := limitBy(httplimit.ClientCert())(hello)
	for range 3 {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		leaf := &x509.Certificate{RawSubjectPublicKeyInfo: []byte("a public key")}
		r.TLS = &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{leaf}}}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		fmt.Println(w.Code)
	}
	// Output:
	// 200
	// 200
	// 429
}

// Behind the mux, in a handler of its own, the pattern that matched is known.
func ExampleRoute() {
	limit := limitBy(httplimit.Compose(httplimit.ClientIP(), httplimit.Route()))
	mux := http.NewServeMux()
	mux.Handle("GET /reports/{id}", limit(hello))
	mux.Handle("GET /items/{id}", limit(hello))
	for _, path := range []string{"/reports/1", "/reports/2", "/reports/3", "/items/1"} {
		fmt.Println(path, visit(mux, path).Code)
	}
	// Output:
	// /reports/1 200
	// /reports/2 200
	// /reports/3 429
	// /items/1 200
}

// A limit on the service as a whole.
func ExampleEveryone() {
	h := limitBy(httplimit.Everyone())(hello)
	for _, address := range []string{"192.0.2.1:1", "192.0.2.2:1", "192.0.2.3:1"} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = address
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		fmt.Println(w.Code)
	}
	// Output:
	// 200
	// 200
	// 429
}

// Requests share a bucket only if they agree in every part: here the tenant and the route.
func ExampleCompose() {
	limit := limitBy(httplimit.Compose(httplimit.ContextValue(tenantKey{}), httplimit.Route()))
	mux := http.NewServeMux()
	mux.Handle("GET /", authenticate(limit(hello)))
	mux.Handle("GET /reports", authenticate(limit(hello)))
	for _, path := range []string{"/", "/", "/", "/reports"} {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("Authorization", "Bearer t0k3n")
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Println(path, w.Code)
	}
	// Output:
	// / 200
	// / 200
	// / 429
	// /reports 200
}
