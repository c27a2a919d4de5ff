package fiber3limit_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"testing"

	"github.com/gofiber/fiber/v3"
	"github.com/httplimit/httplimit"
	fiber3limit "github.com/httplimit/httplimit/adapters/fiber3"
	"github.com/httplimit/httplimit/limiter"
)

func TestSettlesWithTheFinalStatus(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	tests := map[string]struct {
		handler fiber.Handler
		want    int
	}{
		"written":             {hello, 200},
		"nothing at all":      {func(fiber.Ctx) error { return nil }, 200},
		"status alone":        {func(c fiber.Ctx) error { c.Status(204); return nil }, 204},
		"Error":               {func(fiber.Ctx) error { return fiber.NewError(401, "no") }, 401},
		"wrapped Error":       {func(fiber.Ctx) error { return fmt.Errorf("login: %w", fiber.ErrForbidden) }, 403},
		"no further route":    {func(c fiber.Ctx) error { return c.Next() }, 404},
		"any error":           {func(fiber.Ctx) error { return errors.New("no") }, 500},
		"error with a status": {func(c fiber.Ctx) error { c.Status(202); return errors.New("no") }, 500},
		"panic":               {func(fiber.Ctx) error { panic("no") }, 500},
		"stream": {func(c fiber.Ctx) error {
			c.RequestCtx().SetBodyStreamWriter(func(w *bufio.Writer) { fmt.Fprint(w, "hello") })
			return nil
		}, 200},
		"own context ended": {func(c fiber.Ctx) error { c.SetContext(ended); return nil }, 200},
		"hijacked":          {func(c fiber.Ctx) error { c.RequestCtx().Hijack(func(net.Conn) {}); return nil }, 101},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			status := 0
			app := newApp()
			app.Get("/", fiber3limit.New(limit(t, nil, httplimit.Rule{Name: "r",
				CountStatus: func(s int) bool { status = s; return true }})), tt.handler)
			get(t, serve(t, app))
			if status != tt.want {
				t.Errorf("settled with %d, want %d", status, tt.want)
			}
		})
	}
}

func TestOnlyFailuresCount(t *testing.T) {
	app := newApp()
	app.Get("/:status", fiber3limit.New(limit(t, nil, httplimit.Rule{Name: "login", Limit: limiter.PerDay(2),
		CountStatus: func(status int) bool { return status == http.StatusUnauthorized }})),
		func(c fiber.Ctx) error {
			if c.Params("status") == "401" {
				return fiber.ErrUnauthorized
			}
			return nil
		})
	url := serve(t, app)
	for i, c := range []struct {
		path string
		want int
	}{{"/200", 200}, {"/401", 401}, {"/200", 200}, {"/200", 200}, {"/401", 401}, {"/200", 429}} {
		if a := get(t, url+c.path); a.StatusCode != c.want {
			t.Errorf("request %d: got %s, want %d", i+1, a.Status, c.want)
		}
	}
}

// fasthttp does not tell when a client leaves, so it is the app that ends the context.
func TestContextEnded(t *testing.T) {
	wait := func(err error) fiber.Handler { return func(fiber.Ctx) error { return err } }
	for name, tt := range map[string]struct {
		endsBefore bool
		handler    fiber.Handler
		want       int // that CountStatus is asked about; 0: it is not, and the request counts
	}{
		"before the decision":        {true, hello, 200},
		"before the answer":          {false, wait(nil), 0},
		"before the answer, error":   {false, wait(context.Canceled), 0},
		"before the answer, refused": {false, wait(fiber.ErrForbidden), 403},
		"after the answer":           {false, hello, 200},
	} {
		t.Run(name, func(t *testing.T) {
			store, status := newSpy(t), 0
			m := limit(t, store, httplimit.Rule{Name: "login", CountStatus: func(s int) bool { status = s; return false }})
			var cancel context.CancelFunc
			app := newApp()
			app.Use(func(c fiber.Ctx) error {
				var ctx context.Context
				ctx, cancel = context.WithCancel(c.Context())
				c.SetContext(ctx)
				if tt.endsBefore {
					cancel()
				}
				return c.Next()
			})
			served := false
			app.Get("/", fiber3limit.New(m), func(c fiber.Ctx) error {
				served = true
				cancel()
				return tt.handler(c)
			})
			a := get(t, serve(t, app))
			if !served || a.Header.Get("RateLimit") == "" {
				t.Errorf("served %v, %s %v, want the handler's answer with the fields", served, a.Status, a.Header)
			}
			if _, back := store.spent(); status != tt.want || back != min(tt.want, 1) {
				t.Errorf("CountStatus was asked with %d and %d charges given back, want %d and %d",
					status, back, tt.want, min(tt.want, 1))
			}
		})
	}
}
