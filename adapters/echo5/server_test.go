package echo5limit_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
	"github.com/labstack/echo/v5"
	"github.com/labstack/echo/v5/middleware"
)

// spy is a store that remembers what it was asked.
type spy struct {
	limiter.Store
	mu    sync.Mutex
	asked []limiter.Charge
}

func newSpy(t *testing.T) *spy {
	t.Helper()
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return &spy{Store: store}
}

func (s *spy) Take(ctx context.Context, charges []limiter.Charge) (bool, error) {
	s.mu.Lock()
	for _, c := range charges {
		c.Scope, c.Key = string([]byte(c.Scope)), string([]byte(c.Key)) // as they are now
		s.asked = append(s.asked, c)
	}
	s.mu.Unlock()
	return s.Store.Take(ctx, charges)
}

// spent is how many charges came with a positive and with a negative cost.
func (s *spy) spent() (taken, givenBack int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.asked {
		if c.Cost < 0 {
			givenBack++
		} else {
			taken++
		}
	}
	return taken, givenBack
}

func (s *spy) keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []string
	for _, c := range s.asked {
		keys = append(keys, c.Key)
	}
	return keys
}

func limit(t *testing.T, store limiter.Store, rules ...httplimit.Rule) *httplimit.Middleware {
	t.Helper()
	for i := range rules {
		if rules[i].Key == nil {
			rules[i].Key = httplimit.ClientIP()
		}
		if rules[i].Limit == (limiter.Limit{}) {
			rules[i].Limit = limiter.PerDay(100)
		}
	}
	m, err := httplimit.New(httplimit.Config{
		Rules: rules, Store: store, Expose: true, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func newEcho() *echo.Echo { return newEchoWith(echo.Config{}) }

func newEchoWith(cfg echo.Config) *echo.Echo {
	cfg.Logger = slog.New(slog.DiscardHandler)
	e := echo.NewWithConfig(cfg)
	e.Use(middleware.Recover())
	return e
}

func serve(t *testing.T, e *echo.Echo) (url string) {
	t.Helper()
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	return server.URL
}

type answer struct {
	*http.Response
	body string
}

func get(t *testing.T, url string) answer {
	t.Helper()
	return send(t, http.MethodGet, url, nil)
}

func send(t *testing.T, method, url string, header http.Header) answer {
	t.Helper()
	r, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, lines := range header {
		r.Header[name] = lines
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response, string(body)}
}

func hello(c *echo.Context) error { return c.String(http.StatusOK, "hello") }
