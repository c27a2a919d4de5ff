// Package layers_test checks what the table in docs/layers.md says: each layer once outside of the limiter and once
// inside of it, over a real socket.
package layers_test

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5/middleware"
	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

type (
	layer func(http.Handler) http.Handler
	order func(limit, other layer, h http.Handler) http.Handler
)

// orders are the two ways to put a layer and the limiter around a handler.
var orders = map[string]order{
	"limiter outside": func(limit, other layer, h http.Handler) http.Handler { return limit(other(h)) },
	"limiter inside":  func(limit, other layer, h http.Handler) http.Handler { return other(limit(h)) },
}

// forOrders runs a test for both orders.
func forOrders(t *testing.T, test func(t *testing.T, inside bool, around order)) {
	for name, around := range orders {
		t.Run(name, func(t *testing.T) { test(t, name == "limiter inside", around) })
	}
}

func newLimiter(t *testing.T, rule httplimit.Rule) *httplimit.Middleware {
	t.Helper()
	m, err := httplimit.New(httplimit.Config{
		Rules: []httplimit.Rule{rule}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// perDay is a rule that no window boundary disturbs within a test, or hardly ever.
func perDay(n int64) httplimit.Rule {
	limit := limiter.Per(n, 366*24*time.Hour)
	return httplimit.Rule{Name: "ip", Key: httplimit.ClientIP(), Limit: limit}
}

func serve(t *testing.T, h http.Handler) (url string) {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

// get sends a request with these header fields, name by name and value by value, and returns its answer.
func get(t *testing.T, url string, fields ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for pair := range slices.Chunk(fields, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return &http.Response{Header: http.Header{}}, err.Error()
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(body)
}

// left returns what a client on this machine has left of the rule.
func left(t *testing.T, m *httplimit.Middleware) int64 {
	t.Helper()
	v, err := m.Peek(t.Context(), "ip", "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	return v.Remaining
}

var hello = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") })

// TestRecover: a panic of the handler is status 500 in both orders, or what was sent before; one of a rule's function
// only recover outside turns into an answer.
func TestRecover(t *testing.T) {
	forOrders(t, func(t *testing.T, inside bool, around order) {
		rule := perDay(100)
		rule.CountStatus = func(status int) bool { return status == http.StatusInternalServerError }
		rule.When = func(r *http.Request) bool {
			if r.URL.Path == "/rule" {
				panic("in a rule")
			}
			return true
		}
		m := newLimiter(t, rule)
		panicking := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/sent" {
				w.WriteHeader(http.StatusForbidden)
			}
			panic("in a handler")
		})
		url := serve(t, around(m.Handler, middleware.Recoverer, panicking))
		if answer, _ := get(t, url); answer.StatusCode != 500 || answer.Header.Get("RateLimit") == "" {
			t.Errorf("a handler panicked: got %d and RateLimit %q, want 500 with the field",
				answer.StatusCode, answer.Header.Get("RateLimit"))
		}
		if got := left(t, m); got != 99 {
			t.Errorf("left after one panic: %d, want 99: it counts as 500", got)
		}
		if answer, _ := get(t, url+"/sent"); answer.StatusCode != http.StatusForbidden {
			t.Errorf("a handler panicked after it had sent 403: got %d, want 403", answer.StatusCode)
		}
		if got := left(t, m); got != 99 {
			t.Errorf("left after a panic that follows 403: %d, want 99 as before: it is settled as 403", got)
		}
		if answer, err := get(t, url+"/rule"); (answer.StatusCode == 500) != inside {
			t.Errorf("a rule's function panicked: got %d %s, want 500 only with recover outside", answer.StatusCode, err)
		}
	})
}

// TestLogging: refusals are in the log of a layer outside only.
func TestLogging(t *testing.T) {
	forOrders(t, func(t *testing.T, inside bool, around order) {
		lines := make(chan int, 2)
		logging := func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				ww := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
				next.ServeHTTP(ww, r)
				lines <- ww.Status()
			})
		}
		url := serve(t, around(newLimiter(t, perDay(1)).Handler, logging, hello))
		for _, status := range []int{http.StatusOK, http.StatusTooManyRequests} {
			if answer, _ := get(t, url); answer.StatusCode != status || answer.Header.Get("RateLimit") == "" {
				t.Fatalf("got %s and RateLimit %q, want %d with the field", answer.Status, answer.Header.Get("RateLimit"), status)
			}
		}
		want := []int{200}
		if inside {
			want = append(want, 429)
		}
		var got []int
		for range want {
			got = append(got, <-lines)
		}
		if !slices.Equal(got, want) || len(lines) > 0 {
			t.Errorf("logged %v and %d more, want %v", got, len(lines), want)
		}
	})
}

// TestCORS: scripts of another origin can read a refusal only if CORS stands outside.
func TestCORS(t *testing.T) {
	cors := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
			next.ServeHTTP(w, r)
		})
	}
	forOrders(t, func(t *testing.T, inside bool, around order) {
		url := serve(t, around(newLimiter(t, perDay(1)).Handler, cors, hello))
		for _, want := range []struct {
			status   int
			readable bool
		}{{200, true}, {429, inside}} {
			answer, _ := get(t, url, "Origin", "https://app.example")
			readable := answer.Header.Get("Access-Control-Allow-Origin") != ""
			if answer.StatusCode != want.status || readable != want.readable {
				t.Errorf("got %d, readable %v, want %d, %v", answer.StatusCode, readable, want.status, want.readable)
			}
		}
	})
}

// TestPreflights: CORS outside answers them, and they cost nothing. Inside of the limiter they count by themselves: the
// requests lose nothing to them, and a refused one is no CORS answer.
func TestPreflights(t *testing.T) {
	cors := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
			if r.Method == http.MethodOptions {
				w.WriteHeader(http.StatusNoContent)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
	forOrders(t, func(t *testing.T, inside bool, around order) {
		m := newLimiter(t, perDay(2))
		url := serve(t, around(m.Handler, cors, hello))
		var got []int
		for i := range 4 {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, url, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Origin", "https://app.example")
			r.Header.Set("Access-Control-Request-Method", "POST")
			answer, err := http.DefaultTransport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			got = append(got, answer.StatusCode)
			if allowed := answer.Header.Get("Access-Control-Allow-Origin") != ""; allowed != (answer.StatusCode == 204) {
				t.Errorf("preflight %d: got %d and the fields of CORS: %v", i+1, answer.StatusCode, allowed)
			}
		}
		want := []int{204, 204, 429, 429}
		if inside {
			want = []int{204, 204, 204, 204}
		}
		if !slices.Equal(got, want) {
			t.Errorf("four preflights with a limit of 2: got %v, want %v", got, want)
		}
		if got := left(t, m); got != 2 {
			t.Errorf("after the preflights requests have %d left, want 2", got)
		}
	})
}

type userKey struct{}

// authenticate lets two users in and answers all others 401.
func authenticate(next http.Handler) http.Handler {
	users := map[string]string{"Bearer a": "ann", "Bearer b": "bob"}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, ok := users[r.Header.Get("Authorization")]
		if !ok {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), userKey{}, user)))
	})
}

// TestAuthentication: inside of it the limiter counts users and never sees a wrong guess; outside it limits guesses and
// knows the address only.
func TestAuthentication(t *testing.T) {
	requests := []string{"Bearer a", "Bearer guess", "Bearer b", "Bearer a", "Bearer other"}
	forOrders(t, func(t *testing.T, inside bool, around order) {
		rule := perDay(1)
		rule.Key = httplimit.ContextValue(userKey{})
		url := serve(t, around(newLimiter(t, rule).Handler, authenticate, hello))
		want := []int{200, 429, 429, 429, 429}
		if inside {
			want = []int{200, 401, 200, 429, 401}
		}
		var got []int
		for _, credential := range requests {
			answer, _ := get(t, url, "Authorization", credential)
			got = append(got, answer.StatusCode)
		}
		if !slices.Equal(got, want) {
			t.Errorf("ann, a guess, bob, ann, another guess: got %v, want %v", got, want)
		}
	})
}

// TestCountStatusOutsideOfAuthentication: a limit on wrong guesses stands outside, where it sees the 401.
func TestCountStatusOutsideOfAuthentication(t *testing.T) {
	rule := perDay(2)
	rule.CountStatus = func(status int) bool { return status == http.StatusUnauthorized }
	url := serve(t, newLimiter(t, rule).Handler(authenticate(hello)))
	var got []int
	for _, credential := range []string{"Bearer a", "Bearer a", "Bearer a", "x", "y", "z", "Bearer a"} {
		answer, _ := get(t, url, "Authorization", credential)
		got = append(got, answer.StatusCode)
	}
	if want := []int{200, 200, 200, 401, 401, 429, 429}; !slices.Equal(got, want) {
		t.Errorf("three right, three wrong, one right: got %v, want %v", got, want)
	}
}

// TestCompression: both orders work; the limiter inside has its refusals compressed too, and counts by status.
func TestCompression(t *testing.T) {
	compress := layer(middleware.Compress(5, "text/plain", "application/problem+json"))
	forOrders(t, func(t *testing.T, inside bool, around order) {
		rule := perDay(1)
		rule.CountStatus = func(status int) bool { return status == http.StatusOK }
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			if r.URL.Path == "/none" {
				w.WriteHeader(http.StatusNotFound)
			}
			io.WriteString(w, strings.Repeat("hello ", 1000))
		})
		url := serve(t, around(newLimiter(t, rule).Handler, compress, h))
		for _, want := range []struct {
			path, text string
			status     int
			compressed bool
		}{
			{"/none", "hello", 404, true}, // given back
			{"/", "hello", 200, true},
			{"/", "quota-exceeded", 429, inside},
		} {
			answer, body := get(t, url+want.path, "Accept-Encoding", "gzip")
			compressed := answer.Header.Get("Content-Encoding") == "gzip"
			if compressed {
				body = unzip(t, body)
			}
			if answer.StatusCode != want.status || compressed != want.compressed || !strings.Contains(body, want.text) {
				t.Errorf("%s: got %d, compressed %v, %q, want %d, %v, ...%s...",
					want.path, answer.StatusCode, compressed, body, want.status, want.compressed, want.text)
			}
			if answer.Header.Get("RateLimit") == "" {
				t.Errorf("%s: no RateLimit field", want.path)
			}
		}
	})
}

func unzip(t *testing.T, body string) string {
	t.Helper()
	r, err := gzip.NewReader(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestBodyLimits: a KeyFunc that reads the body is held to the limit of a layer outside only.
func TestBodyLimits(t *testing.T) {
	limit := func(next http.Handler) http.Handler { return http.MaxBytesHandler(next, 10) }
	forOrders(t, func(t *testing.T, inside bool, around order) {
		read := make(chan int, 1)
		var tooLarge bool
		rule := perDay(100)
		rule.Key = httplimit.KeyFunc(func(r *http.Request) (string, error) {
			body, err := io.ReadAll(r.Body)
			var reason *http.MaxBytesError
			tooLarge = errors.As(err, &reason)
			read <- len(body)
			return "", httplimit.ErrNoKey
		})
		url := serve(t, around(newLimiter(t, rule).Handler, limit, hello))
		answer, err := http.Post(url, "text/plain", strings.NewReader(strings.Repeat("x", 1000)))
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		want := 1000
		if inside {
			want = 10
		}
		if got := <-read; got != want || tooLarge != inside {
			t.Errorf("the KeyFunc read %d bytes, too large: %v, want %d, %v", got, tooLarge, want, inside)
		}
	})
}

// TestRealIP: behind a layer that copies what clients write into RemoteAddr, every client chooses its address.
func TestRealIP(t *testing.T) {
	//lint:ignore SA1019 the layer that the documentation warns of
	realIP := layer(middleware.RealIP)
	forOrders(t, func(t *testing.T, inside bool, around order) {
		url := serve(t, around(newLimiter(t, perDay(1)).Handler, realIP, hello))
		want := []int{200, 429}
		if inside {
			want = []int{200, 200}
		}
		var got []int
		for _, forged := range []string{"192.0.2.1", "192.0.2.2"} {
			answer, _ := get(t, url, "X-Forwarded-For", forged)
			got = append(got, answer.StatusCode)
		}
		if !slices.Equal(got, want) {
			t.Errorf("two invented addresses, one client: got %v, want %v", got, want)
		}
	})
}

// TestRouter: outside of a mux, requests that no route matches count too, and RouteOf is the key by route; inside it is
// Route, and such requests never get to the limiter.
func TestRouter(t *testing.T) {
	for name, tt := range map[string]struct {
		key  func(*http.ServeMux) httplimit.Key
		want []int
	}{
		"limiter outside": {httplimit.RouteOf, []int{200, 200, 429, 404, 429}},
		"limiter inside":  {func(*http.ServeMux) httplimit.Key { return httplimit.Route() }, []int{200, 200, 429, 404, 404}},
	} {
		t.Run(name, func(t *testing.T) {
			mux := http.NewServeMux()
			rule := perDay(1)
			rule.Key = httplimit.Compose(httplimit.ClientIP(), tt.key(mux))
			m := newLimiter(t, rule)
			h := http.Handler(mux)
			route := hello.ServeHTTP
			if name == "limiter outside" {
				h = m.Handler(mux)
			} else {
				route = m.Handler(hello).ServeHTTP
			}
			mux.HandleFunc("/a/{id}", route)
			mux.HandleFunc("/b/{id}", route)
			url := serve(t, h)
			var got []int
			for _, path := range []string{"/a/1", "/b/1", "/a/2", "/none", "/none/either"} {
				answer, _ := get(t, url+path)
				got = append(got, answer.StatusCode)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("/a/1, /b/1, /a/2 and two paths without a route: got %v, want %v", got, tt.want)
			}
		})
	}
}
