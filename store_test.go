package httplimit_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
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
	m.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })).ServeHTTP(w, r)
	return w
}
