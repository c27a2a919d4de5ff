package fiberlimit_test

import (
	"net"
	"slices"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/httplimit/httplimit"
	fiberlimit "github.com/httplimit/httplimit/adapters/fiber"
	"github.com/valyala/fasthttp"
)

// The text of an address lies in memory that other requests are checked with, here one that is served within another.
func TestAddressIsKeptForTheRefund(t *testing.T) {
	store := newSpy(t)
	app := newApp()
	app.Use(fiberlimit.New(limit(t, store, httplimit.Rule{Name: "ip", CountStatus: found})))
	var serve fasthttp.RequestHandler
	request := func(path string, host byte) {
		var r fasthttp.Request
		r.SetRequestURI(path)
		var c fasthttp.RequestCtx
		c.Init(&r, &net.TCPAddr{IP: net.IPv4(192, 0, 2, host), Port: 1234}, nil)
		serve(&c)
	}
	app.Get("/outer", func(*fiber.Ctx) error {
		request("/inner", 66)
		return fiber.ErrNotFound
	})
	app.Get("/inner", func(*fiber.Ctx) error { return fiber.ErrNotFound })
	serve = app.Handler()
	request("/outer", 55)
	var refunded []string
	for _, c := range store.asked {
		if c.Cost < 0 {
			refunded = append(refunded, c.Key)
		}
	}
	if want := []string{"192.0.2.66", "192.0.2.55"}; !slices.Equal(refunded, want) {
		t.Errorf("given back to %q, want %q", refunded, want)
	}
}
