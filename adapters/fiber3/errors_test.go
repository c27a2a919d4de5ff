package fiber3limit_test

import (
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/gofiber/fiber/v3"
	"github.com/httplimit/httplimit"
	fiber3limit "github.com/httplimit/httplimit/adapters/fiber3"
)

// TestErrorsSettleAsWhatTheyBecome by the ErrorHandler of the app or of the one that is mounted there, which answers
// once.
func TestErrorsSettleAsWhatTheyBecome(t *testing.T) {
	wrong := errors.New("wrong password")
	mapping := func(c fiber.Ctx) error {
		if err := c.Next(); errors.Is(err, wrong) {
			return fiber.ErrUnauthorized
		}
		return nil
	}
	redirect := func(c fiber.Ctx, _ error) error { return c.Redirect().Status(302).To("/") }
	tests := map[string]struct {
		handler fiber.ErrorHandler
		within  []any
		want    int
	}{
		"the app's":                  {func(c fiber.Ctx, _ error) error { return c.SendStatus(401) }, nil, 401},
		"as no failure":              {redirect, nil, 302},
		"as 200":                     {func(c fiber.Ctx, _ error) error { return c.SendString("") }, nil, 200},
		"Fiber's own":                {fiber.DefaultErrorHandler, nil, 500},
		"one that fails":             {func(fiber.Ctx, error) error { return wrong }, nil, 500},
		"Fiber's own, mapped within": {fiber.DefaultErrorHandler, []any{fiber.Handler(mapping)}, 401},
	}
	for name, tt := range tests {
		for _, mounted := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				answered, settled := 0, []int(nil)
				cfg := fiber.Config{ErrorHandler: func(c fiber.Ctx, err error) error { answered++; return tt.handler(c, err) }}
				limits := fiber3limit.New(limit(t, nil, httplimit.Rule{Name: "r",
					CountStatus: func(s int) bool { settled = append(settled, s); return true }}))
				failing := append([]any{limits, limits}, tt.within...)
				failing = append(failing, fiber.Handler(func(fiber.Ctx) error { return wrong }))
				app := newApp(cfg)
				if mounted {
					app = newApp()
					inner := newApp(cfg)
					inner.Get("/", failing[0], failing[1:]...)
					app.Use("/in", inner)
				} else {
					app.Get("/in", failing[0], failing[1:]...)
				}
				status := send(t, http.MethodGet, serve(t, app)+"/in", nil).StatusCode
				if want := []int{tt.want, tt.want}; status != tt.want || answered != 1 || !slices.Equal(settled, want) {
					t.Errorf("mounted %v: got %d, answered %d times, settled with %v, want %d, once, %v",
						mounted, status, answered, settled, tt.want, want)
				}
			})
		}
	}
}
