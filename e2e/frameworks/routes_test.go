package frameworks_test

import (
	"log/slog"
	"net"
	"net/http"
	"slices"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// TestRoutesWithoutAnAdapter shows what Route is in chi and http.ServeMux, where the Middleware stands at different
// places. chi tells the pattern since v5.2.3, and all of it below a Route since v5.3.0.
func TestRoutesWithoutAnAdapter(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /users/{id}", open)
	mux.HandleFunc("/files/{path...}", open)

	type middleware = func(http.Handler) http.Handler
	tests := []struct {
		name  string
		key   httplimit.Key
		serve func(limit middleware) http.Handler
		want  map[string]string // keys by path
	}{
		{"chi, With", httplimit.Route(), func(limit middleware) http.Handler {
			r := chi.NewRouter()
			r.With(limit).Get("/users/{id}", open)
			return r
		}, map[string]string{"/users/1": "/users/%7Bid%7D", "/users/2": "/users/%7Bid%7D"}},
		{"chi, Group", httplimit.Route(), func(limit middleware) http.Handler {
			r := chi.NewRouter()
			r.Group(func(r chi.Router) {
				r.Use(limit)
				r.Get("/users/{id}", open)
				r.Get("/files/*", open)
			})
			return r
		}, map[string]string{"/users/1": "/users/%7Bid%7D", "/files/a/b": "/files/%2A"}},
		{"chi, With below Route", httplimit.Route(), func(limit middleware) http.Handler {
			r := chi.NewRouter()
			r.Route("/api", func(r chi.Router) { r.With(limit).Get("/users/{id}", open) })
			return r
		}, map[string]string{"/api/users/1": "/api/users/%7Bid%7D"}},
		{"chi, Use below Route: routed as far as there", httplimit.Route(), func(limit middleware) http.Handler {
			r := chi.NewRouter()
			r.Route("/api", func(r chi.Router) { r.Use(limit); r.Get("/users/{id}", open) })
			return r
		}, map[string]string{"/api/users/1": "/api/%2A"}},
		{"chi, Use: not routed yet", httplimit.Route(), func(limit middleware) http.Handler {
			r := chi.NewRouter()
			r.Use(limit)
			r.Get("/users/{id}", open)
			return r
		}, map[string]string{"/users/1": "%N:127.0.0.1", "/none": "%N:127.0.0.1"}},
		{"ServeMux, on a handler", httplimit.Route(), func(limit middleware) http.Handler {
			own := http.NewServeMux()
			own.Handle("GET /users/{id}", limit(http.HandlerFunc(open)))
			return own
		}, map[string]string{"/users/1": "GET%20/users/%7Bid%7D"}},
		{"ServeMux, around it: not routed yet", httplimit.Route(), func(limit middleware) http.Handler {
			return limit(mux)
		}, map[string]string{"/users/1": "%N:127.0.0.1", "/none": "%N:127.0.0.1"}},
		{"ServeMux, around it, asked", httplimit.RouteOf(mux), func(limit middleware) http.Handler {
			return limit(mux)
		}, map[string]string{
			"/users/1": "GET%20/users/%7Bid%7D", "/files/a/b": "/files/%7Bpath...%7D", "/none": "%N:127.0.0.1",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			store := record(frozen(t))
			m, err := httplimit.New(httplimit.Config{Store: store, Logger: slog.New(slog.DiscardHandler),
				Rules: []httplimit.Rule{{Name: "route", Key: tt.key, Limit: limiter.PerHour(9)}}})
			if err != nil {
				t.Fatal(err)
			}
			at := listen(t, "tcp4")
			serveHandler(t, at, tt.serve(m.Handler))
			for path, key := range tt.want {
				checkAsked(t, at, store, path, "take /route "+key+" 1")
			}
		})
	}
}

func checkAsked(t *testing.T, at net.Listener, store *recorder, path string, want ...string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, host+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, _, err := send(dial(t, at), r)
	if err != nil {
		t.Fatal(err)
	}
	if got := store.noted(); !slices.Equal(got, want) || answer.Header.Get("RateLimit") == "" {
		t.Errorf("%s: got %q and RateLimit %q, want %q", path, got, answer.Header.Get("RateLimit"), want)
	}
}

// The same app in chi and in http.ServeMux: one line, and no adapter.
func TestNoAdapterIsNeeded(t *testing.T) {
	limit := httplimit.PerIP(1, year)
	router := chi.NewRouter()
	router.Use(limit)
	router.Get("/open", open)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /open", open)
	for name, handler := range map[string]http.Handler{"chi": router, "ServeMux": httplimit.PerIP(1, year)(mux)} {
		t.Run(name, func(t *testing.T) {
			at := listen(t, "tcp4")
			serveHandler(t, at, handler)
			client := dial(t, at)
			for _, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
				answer, err := client.Get(host + "/open")
				if err != nil {
					t.Fatal(err)
				}
				answer.Body.Close()
				if answer.StatusCode != want {
					t.Errorf("got %s, want %d", answer.Status, want)
				}
			}
		})
	}
}
