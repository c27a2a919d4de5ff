package frameworks_test

import (
	"cmp"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// clientsPaths are spellings that routers clean, redirect, decode or do not match. y17 is what the client chose.
var clientsPaths = []string{
	"/items/y17", "/items/y17/", "/items//y17", "//items/y17", "/items/y17%2Fz", "/y17", "/x%2F%2Fy17", "/y17%2F",
	"/%2e%2e/y17",
	"/items/..%2fy17", "/ITEMS/y17", "/items/y17;a=b", "/y17/", "/open/y17", "/items/%79%31%37",
}

// TestRoutesAreNeverWrittenByClients: whatever a client asks for, the key of a route is a pattern of the application,
// or there is none and NoKey decides.
func TestRoutesAreNeverWrittenByClients(t *testing.T) {
	rule := httplimit.Rule{Name: "route", Key: httplimit.Route(), NoKey: httplimit.Everyone(), Limit: limiter.PerHour(1e6)}
	for _, f := range frameworks() {
		t.Run(f.name, func(t *testing.T) {
			st := &stage{store: record(frozen(t))}
			cfg := httplimit.Config{Rules: []httplimit.Rule{rule}}
			at := listen(t, "tcp4")
			f.serve(t, at, app{left: func() {}, item: byID,
				around:  []*httplimit.Middleware{st.middleware(t, cfg)},
				onRoute: []*httplimit.Middleware{st.middleware(t, cfg)}})
			client := &rawClient{t: t, at: at.Addr()}
			for _, method := range []string{"GET", "POST", "OPTIONS"} {
				for _, path := range clientsPaths {
					client.send(method+" "+path, "Content-Length: 0")
				}
			}
			asked := st.store.noted()
			slices.Sort(asked)
			asked = slices.Compact(asked)
			for _, line := range asked {
				if strings.Contains(line, "17") {
					t.Errorf("the store was asked %q, want no text of the client", line)
				}
			}
			if len(asked) > 3 { // the item's pattern, the prefix of Fiber's Use, and none
				t.Errorf("the store was asked %q, want one key a pattern", asked)
			}
		})
	}
}

// TestConnectWritesNoKey: a mux redirects CONNECT to the path that the client wrote, and calls that the pattern.
func TestConnectWritesNoKey(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/{id}/", open)
	store := record(frozen(t))
	m, err := httplimit.New(httplimit.Config{Store: store, Logger: slog.New(slog.DiscardHandler), Rules: []httplimit.Rule{
		{Name: "route", Key: httplimit.RouteOf(mux), Limit: limiter.PerHour(1e6)}}})
	if err != nil {
		t.Fatal(err)
	}
	at := listen(t, "tcp4")
	serveHandler(t, at, m.Handler(mux))
	client := &rawClient{t: t, at: at.Addr()}
	for _, path := range []string{"/x%2F%2Fy17", "/x%2F%2Fy18", "/x%2Fy19", "/y20", "/y21%2F"} {
		client.send("CONNECT " + path)
		if got, want := store.noted(), []string{"take /route %N:127.0.0.1 1"}; !slices.Equal(got, want) {
			t.Errorf("CONNECT %s: the store was asked %q, want %q", path, got, want)
		}
	}
	client.send("CONNECT /y22/")
	if got, want := store.noted(), []string{"take /route /%7Bid%7D/ 1"}; !slices.Equal(got, want) {
		t.Errorf("CONNECT /y22/: the store was asked %q, want %q", got, want)
	}
}

// chiService has routes at all depths. limit stands where the caller puts it: around the whole, or beside the routes.
func chiService(use, with func(http.Handler) http.Handler) *chi.Mux {
	router := chi.NewRouter()
	if use != nil {
		router.Use(use)
	}
	routes := func(r chi.Router) {
		if with != nil {
			r = r.With(with)
		}
		r.Get("/users/{id}", open)
		r.Get("/files/*", open)
		r.Post("/users", open)
	}
	router.Group(routes)
	router.Route("/api", func(r chi.Router) {
		routes(r)
		r.Route("/v{version}", routes)
	})
	mounted := chi.NewRouter()
	routes(mounted)
	router.Mount("/mounted", mounted)
	return router
}

// TestChiPatterns: asked beforehand by RouteFrom, chi names the pattern that Route finds behind its routing.
func TestChiPatterns(t *testing.T) {
	requests := map[string]string{ // the key of each
		"GET /users/7": "/users/%7Bid%7D", "GET /users/8": "/users/%7Bid%7D", "GET /users/7%2F8": "/users/%7Bid%7D",
		"GET /files/a/b": "/files/%2A", "POST /users": "/users",
		"GET /api/users/7": "/api/users/%7Bid%7D", "GET /api/v2/users/7": "/api/v%7Bversion%7D/users/%7Bid%7D",
		"GET /api/v3/files/x": "/api/v%7Bversion%7D/files/%2A", "GET /mounted/users/7": "/mounted/users/%7Bid%7D",
		"GET /none/y17": "", "DELETE /users/7": "", "GET /api/none": "",
	}
	var router *chi.Mux
	find := func(r *http.Request) string {
		return router.Find(chi.NewRouteContext(), r.Method, cmp.Or(r.URL.RawPath, r.URL.Path))
	}
	routed := func(r *http.Request) string { return chi.RouteContext(r.Context()).RoutePattern() }
	for _, tt := range []struct {
		name   string
		key    httplimit.Key
		around bool
	}{
		{"Route in With", httplimit.Route(), false},
		{"RouteFrom the context in With", httplimit.RouteFrom(routed), false},
		{"RouteFrom the router in Use", httplimit.RouteFrom(find), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			store := record(frozen(t))
			m, err := httplimit.New(httplimit.Config{Store: store, Logger: slog.New(slog.DiscardHandler),
				Rules: []httplimit.Rule{{Name: "route", Key: tt.key, NoKey: httplimit.Everyone(), Limit: limiter.PerHour(1e6)}}})
			if err != nil {
				t.Fatal(err)
			}
			if tt.around {
				router = chiService(m.Handler, nil)
			} else {
				router = chiService(nil, m.Handler)
			}
			at := listen(t, "tcp4")
			serveHandler(t, at, router)
			client := &rawClient{t: t, at: at.Addr()}
			for request, key := range requests {
				want := []string{"take /route " + key + " 1"}
				switch {
				case key == "" && tt.around:
					want = []string{"take /route %N: 1"}
				case key == "":
					want = nil
				}
				client.send(request, "Content-Length: 0")
				if got := store.noted(); !slices.Equal(got, want) {
					t.Errorf("%s: the store was asked %q, want %q", request, got, want)
				}
			}
		})
	}
}

// logged is a log that tests read.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) count(word string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), word)
}

// TestMisplacedRoutesAreLogged: a Route that sees no pattern, or only where a subrouter is mounted, counts many routes
// in one bucket.
func TestMisplacedRoutesAreLogged(t *testing.T) {
	type middleware = func(http.Handler) http.Handler
	for _, tt := range []struct {
		name  string
		serve func(limit middleware) http.Handler
		path  string
		want  string // a code, "" for none
	}{
		{"chi, Use on the router", func(limit middleware) http.Handler { return chiService(limit, nil) }, "/users/7",
			"route-not-known"},
		{"chi, With", func(limit middleware) http.Handler { return chiService(nil, limit) }, "/users/7", ""},
		{"chi, Use inside of Route", func(limit middleware) http.Handler {
			router := chi.NewRouter()
			router.Route("/api", func(r chi.Router) { r.Use(limit); r.Get("/users/{id}", open) })
			return router
		}, "/api/users/7", "route-ends-at-a-subrouter"},
		{"around a ServeMux", func(limit middleware) http.Handler {
			mux := http.NewServeMux()
			mux.HandleFunc("/users/{id}", open)
			return limit(mux)
		}, "/users/7", "route-not-known"},
		{"inside of a ServeMux", func(limit middleware) http.Handler {
			mux := http.NewServeMux()
			mux.Handle("/users/{id}", limit(http.HandlerFunc(open)))
			return mux
		}, "/users/7", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log logged
			m, err := httplimit.New(httplimit.Config{Logger: slog.New(slog.NewTextHandler(&log, nil)), Rules: []httplimit.Rule{
				{Name: "route", Key: httplimit.Compose(httplimit.ClientIP(), httplimit.Route()), Limit: limiter.PerHour(1e6)}}})
			if err != nil {
				t.Fatal(err)
			}
			at := listen(t, "tcp4")
			serveHandler(t, at, tt.serve(m.Handler))
			client := &rawClient{t: t, at: at.Addr()}
			for range 3 {
				client.send("GET " + tt.path)
			}
			for _, code := range []string{"route-not-known", "route-ends-at-a-subrouter"} {
				want := 0
				if code == tt.want {
					want = 1
				}
				if got := log.count(code); got != want {
					t.Errorf("%s was logged %d times, want %d", code, got, want)
				}
			}
		})
	}
}
