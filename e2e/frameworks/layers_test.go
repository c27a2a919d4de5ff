package frameworks_test

import (
	"bytes"
	"fmt"
	"io"
	"log"
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

type layer = func(http.Handler) http.Handler

// around puts the layers around h, the first one outermost.
func around(h http.Handler, layers ...layer) http.Handler {
	for _, l := range slices.Backward(layers) {
		h = l(h)
	}
	return h
}

// TestLayers is what each order of layers means, with chi's own: what the client gets, and what the rule is told.
func TestLayers(t *testing.T) {
	const patience = 300 * time.Millisecond // in which a refusal is there on any machine
	var logged bytes.Buffer
	logs := middleware.RequestLogger(&middleware.DefaultLogFormatter{Logger: log.New(&logged, "", 0), NoColor: true})
	compress := middleware.Compress(5, "text/plain", "application/problem+json")
	timeout := func(next http.Handler) http.Handler { return http.TimeoutHandler(next, patience, "late") }
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "hello")
	})
	panicking := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("no") })
	slow := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	tests := map[string]struct {
		outside, inside []layer
		handler         http.Handler
		first           string // "status, settled with status, has the fields"
		second          string // that is refused, if the first one counts
	}{
		"recover outside": {
			[]layer{middleware.Recoverer},
			nil,
			panicking,
			"500 settled [500] fields true",
			"429 settled [] fields true",
		},
		"recover inside": {
			nil,
			[]layer{middleware.Recoverer},
			panicking,
			"500 settled [500] fields true",
			"429 settled [] fields true",
		},
		"logging outside": {[]layer{logs}, nil, hello, "200 settled [200] fields true", "429 settled [] fields true"},
		"logging inside":  {nil, []layer{logs}, hello, "200 settled [200] fields true", "429 settled [] fields true"},
		"compression outside": {
			[]layer{compress},
			nil,
			hello,
			"200 settled [200] fields true",
			"429 settled [] fields true",
		},
		"compression inside": {
			nil,
			[]layer{compress},
			hello,
			"200 settled [200] fields true",
			"429 settled [] fields true",
		},
		"TimeoutHandler outside": {[]layer{timeout}, nil, slow, "503 settled [] fields false", "429 settled [] fields true"},
		"TimeoutHandler inside": {
			nil,
			[]layer{timeout},
			slow,
			"503 settled [503] fields true",
			"429 settled [] fields true",
		},
		"chi's Timeout outside": {
			[]layer{middleware.Timeout(patience)},
			nil,
			slow,
			"504 settled [] fields true",
			"429 settled [] fields true",
		},
		"chi's Timeout inside": {
			nil,
			[]layer{middleware.Timeout(patience)},
			slow,
			"504 settled [504] fields true",
			"429 settled [] fields true",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			done := make(chan []int, 1)
			var settled []int
			rule := byIP("ip", limiter.PerHour(1))
			rule.CountStatus = func(s int) bool { settled = append(settled, s); return true }
			m := stageless(t, rule)
			// Innermost of the outer layers: http.TimeoutHandler answers before what it wraps has returned.
			watched := func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					settled = nil
					defer func() { done <- settled }()
					next.ServeHTTP(w, r)
				})
			}
			layers := slices.Concat(tt.outside, []layer{watched, m.Handler}, tt.inside)
			server := httptest.NewUnstartedServer(around(tt.handler, layers...))
			server.Config.ErrorLog = discarded
			server.Start()
			defer server.Close()
			for i, want := range []string{tt.first, tt.second} {
				logged.Reset()
				r, _ := http.NewRequest(http.MethodGet, server.URL, nil)
				r.Header.Set("Accept-Encoding", "gzip")
				a, err := server.Client().Do(r)
				if err != nil {
					t.Fatal(err)
				}
				a.Body.Close()
				got := fmt.Sprintf("%d settled %v fields %v", a.StatusCode, <-done, a.Header.Get("RateLimit") != "")
				if got != want {
					t.Errorf("request %d: got %s, want %s", i+1, got, want)
				}
				if zipped := a.Header.Get("Content-Encoding") == "gzip"; zipped != strings.HasPrefix(name, "compression") &&
					(i == 0 || len(tt.outside) > 0) {
					t.Errorf("request %d: compressed %v", i+1, zipped)
				}
				if seen := logged.Len() > 0; seen != (strings.HasPrefix(name, "logging") && (i == 0 || len(tt.outside) > 0)) {
					t.Errorf("request %d: logged %v: %s", i+1, seen, logged.String())
				}
			}
		})
	}
}

func stageless(t *testing.T, rules ...httplimit.Rule) *httplimit.Middleware {
	t.Helper()
	m, err := httplimit.New(httplimit.Config{Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	return m
}
