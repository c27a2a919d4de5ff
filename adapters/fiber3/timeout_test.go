package fiber3limit_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/timeout"
	"github.com/httplimit/httplimit"
	fiber3limit "github.com/httplimit/httplimit/adapters/fiber3"
	"github.com/httplimit/httplimit/limiter"
)

// TestTimeoutsSettleAsWhatIsSent: the client has the timeout's answer while the handler runs on, and writes another.
func TestTimeoutsSettleAsWhatIsSent(t *testing.T) {
	custom := func(c fiber.Ctx) error { return c.SendStatus(fiber.StatusGatewayTimeout) }
	failing := func(fiber.Ctx) error { return errors.New("late") }
	tests := map[string]struct {
		onTimeout fiber.Handler
		limiter   string // around or within the timeout
		want      int
	}{
		"around":                   {nil, "around", 408},
		"within":                   {nil, "within", 408},
		"around, own answer":       {custom, "around", 504},
		"around, an error instead": {failing, "around", 408},
	}
	for name, tt := range tests {
		for kind, fail := range map[string]error{"nil": nil, "error": fiber.ErrForbidden} {
			t.Run(name+", "+kind, func(t *testing.T) {
				settled, free := make(chan int, 1), make(chan struct{})
				limits := fiber3limit.New(limit(t, nil,
					httplimit.Rule{Name: "r", CountStatus: func(s int) bool { settled <- s; return true }},
					httplimit.Rule{Name: "open", InFlight: true, Limit: limiter.PerHour(1)}))
				handler := func(c fiber.Ctx) error {
					<-free
					if tt.onTimeout == nil {
						c.Status(fiber.StatusAccepted)
					}
					return fail
				}
				app, cfg := newApp(), timeout.Config{Timeout: time.Millisecond, OnTimeout: tt.onTimeout}
				if tt.limiter == "around" {
					app.Get("/", limits, timeout.New(handler, cfg))
				} else {
					app.Get("/", timeout.New(limits, cfg), handler)
				}
				url := serve(t, app)
				a := get(t, url)
				if tt.limiter == "around" {
					if got := <-settled; got != tt.want {
						t.Errorf("settled with %d, want %d", got, tt.want)
					}
				}
				close(free)
				if tt.limiter == "within" {
					if got := <-settled; got != tt.want {
						t.Errorf("settled with %d, want %d", got, tt.want)
					}
				}
				if a.StatusCode != tt.want {
					t.Errorf("got %s, want %d", a.Status, tt.want)
				}
			})
		}
	}
}

// TestTimeoutsThatDoNotCome: within the timeout all is as without it.
func TestTimeoutsThatDoNotCome(t *testing.T) {
	var settled []int
	limits := fiber3limit.New(limit(t, nil, httplimit.Rule{Name: "r",
		CountStatus: func(s int) bool { settled = append(settled, s); return true }}))
	app := newApp()
	slow := timeout.Config{Timeout: time.Hour}
	app.Get("/around", limits, timeout.New(func(fiber.Ctx) error { return fiber.ErrForbidden }, slow))
	app.Get("/within", timeout.New(limits, slow), func(fiber.Ctx) error { return fiber.ErrForbidden })
	url := serve(t, app)
	for _, path := range []string{"/around", "/within"} {
		if a := get(t, url+path); a.StatusCode != 403 {
			t.Errorf("%s: got %s, want 403", path, a.Status)
		}
	}
	if want := []int{403, 403}; !slices.Equal(settled, want) {
		t.Errorf("settled with %v, want %v", settled, want)
	}
}
