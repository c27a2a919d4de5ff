//go:build !race

package fiberlimit_test

import (
	"bufio"
	"net"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/httplimit/httplimit"
	fiberlimit "github.com/httplimit/httplimit/adapters/fiber"
	"github.com/httplimit/httplimit/limiter"
	"github.com/valyala/fasthttp"
)

// request serves one request with an empty answer.
func request(tb testing.TB, app *fiber.App) func() {
	var r fasthttp.Request
	if err := r.Read(bufio.NewReader(strings.NewReader("GET / HTTP/1.1\r\nHost: x\r\n\r\n"))); err != nil {
		tb.Fatal(err)
	}
	var c fasthttp.RequestCtx
	c.Init(&r, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 1234}, nil)
	serve := app.Handler()
	return func() {
		c.Response.Reset()
		serve(&c)
	}
}

func apps(tb testing.TB) (bare, limited *fiber.App) {
	m, err := httplimit.New(httplimit.Config{Rules: []httplimit.Rule{
		{Name: "ip", Key: httplimit.ClientIP(), Limit: limiter.PerMinute(1e9)},
	}})
	if err != nil {
		tb.Fatal(err)
	}
	answer := func(c *fiber.Ctx) error { c.Status(fiber.StatusNoContent); return nil }
	bare, limited = fiber.New(), fiber.New()
	bare.Get("/", answer)
	limited.Get("/", fiberlimit.New(m), answer)
	return bare, limited
}

// Not even one for the text of the address.
func TestAllocations(t *testing.T) {
	bare, limited := apps(t)
	base, got := testing.AllocsPerRun(1000, request(t, bare)), testing.AllocsPerRun(1000, request(t, limited))
	if got > base {
		t.Errorf("the limiter allocates %v times a request, want none", got-base)
	}
}

func BenchmarkFiber(b *testing.B) {
	bare, limited := apps(b)
	for name, app := range map[string]*fiber.App{"limit=no": bare, "limit=yes": limited} {
		b.Run(name, func(b *testing.B) {
			serve := request(b, app)
			b.ReportAllocs()
			for b.Loop() {
				serve()
			}
		})
	}
}
