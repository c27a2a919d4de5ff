package httplimit_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// scripted is a store that says what a test wants to hear and remembers what it was asked.
type scripted struct {
	answer func(c *limiter.Charge) // fills in the Decision; nil allows
	err    error

	mu    sync.Mutex
	asked []limiter.Charge
}

func (s *scripted) Take(ctx context.Context, charges []limiter.Charge) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return false, err
	}
	s.asked = append(s.asked, charges...)
	if s.err != nil {
		return false, s.err
	}
	taken := true
	for i := range charges {
		c := &charges[i]
		c.State.At = 1
		c.Decision = limiter.Decision{Allowed: true, Remaining: c.Limit.Requests - max(0, c.Cost)}
		if s.answer != nil && c.Cost >= 0 {
			s.answer(c)
		}
		taken = taken && (c.Allowed || c.Mode != limiter.Enforce)
	}
	return taken, nil
}

func (s *scripted) Reset(context.Context, []limiter.Charge) error { return s.err }

func (s *scripted) charges() []limiter.Charge {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]limiter.Charge(nil), s.asked...)
}

func (s *scripted) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

var errDown = errors.New("dial tcp 10.1.2.3:6379: connection refused")

func mustNew(t *testing.T, cfg httplimit.Config) *httplimit.Middleware {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	m, err := httplimit.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// serve sends one request from address through the middleware to a handler that answers "ok".
func serve(m *httplimit.Middleware, address string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RemoteAddr = address
	return serveRequest(m, r)
}

func serveRequest(m *httplimit.Middleware, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	m.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })).
		ServeHTTP(w, r)
	return w
}

func ip(limit limiter.Limit) httplimit.Rule {
	return httplimit.Rule{Name: "ip", Key: httplimit.ClientIP(), Limit: limit}
}

func get() *http.Request { return httptest.NewRequest(http.MethodGet, "/", nil) }

func preflight() *http.Request {
	r := httptest.NewRequest(http.MethodOptions, "/", nil)
	r.Header.Set("Origin", "https://app.example")
	r.Header.Set("Access-Control-Request-Method", "POST")
	return r
}

func checkRefusal(t *testing.T, w *httptest.ResponseRecorder, rules ...string) {
	t.Helper()
	if w.Code != http.StatusTooManyRequests {
		t.Fatalf("status: got %d, want 429", w.Code)
	}
	if got := w.Header().Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control: got %q, want no-store", got)
	}
	if got := w.Header().Get("Retry-After"); got == "" {
		t.Error("no Retry-After")
	}
	list := make([]any, len(rules))
	for i, r := range rules {
		list[i] = r
	}
	checkProblem(t, w, map[string]any{
		"type": "https://iana.org/assignments/http-problem-types#quota-exceeded", "status": 429, "violated-policies": list,
	})
}

func failingRule(name string, policy httplimit.FailurePolicy, n int64) httplimit.Rule {
	return httplimit.Rule{Name: name, Key: httplimit.ClientIP(), Limit: limiter.PerDay(n), Failure: policy}
}

func remaining(t *testing.T, m *httplimit.Middleware, rule string) int64 {
	t.Helper()
	v, err := m.Peek(context.Background(), rule, "192.0.2.1")
	if err != nil {
		t.Fatal(err)
	}
	return v.Remaining
}

func checkProblem(t *testing.T, w *httptest.ResponseRecorder, want map[string]any) {
	t.Helper()
	if got := w.Header().Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("Content-Type: got %q, want application/problem+json", got)
	}
	var got map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatalf("body %q: %v", w.Body, err)
	}
	for member, value := range want {
		g, _ := json.Marshal(got[member])
		v, _ := json.Marshal(value)
		if string(g) != string(v) {
			t.Errorf("problem member %q: got %s, want %s", member, g, v)
		}
	}
}

func readVectors(t *testing.T, name string, into any) {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}
