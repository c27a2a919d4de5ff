package web

import (
	"bufio"
	"net"
	"net/netip"
	"strings"

	"github.com/gofiber/fiber/v2"
	fibermiddleware "github.com/gofiber/fiber/v2/middleware/limiter"
	"github.com/httplimit/httplimit"
	fiberlimit "github.com/httplimit/httplimit/adapters/fiber"
	"github.com/valyala/fasthttp"

	"github.com/httplimit/httplimit/benchmarks/workload"
)

func fiberBare(Setup) (func() Serve, error) { return serveFiber() }

func fiberOwn(s Setup) (func() Serve, error) {
	m, err := own(s)
	if err != nil {
		return nil, err
	}
	return serveFiber(fiberlimit.New(m))
}

// fiberOwnAlike refuses as Fiber's own middleware does: with a bare status.
func fiberOwnAlike(s Setup) (func() Serve, error) {
	m, err := own(s)
	if err != nil {
		return nil, err
	}
	return serveFiber(fiberlimit.New(m, fiberlimit.Config{OnDeny: func(c *fiber.Ctx, d httplimit.Denial) error {
		return c.SendStatus(d.Status)
	}}))
}

func fiberFixed(s Setup) (func() Serve, error) { return fiberRival(s, fibermiddleware.FixedWindow{}) }

func fiberSliding(s Setup) (func() Serve, error) {
	return fiberRival(s, fibermiddleware.SlidingWindow{})
}

func fiberRival(s Setup, algorithm fibermiddleware.LimiterHandler) (func() Serve, error) {
	config := fibermiddleware.Config{Max: int(s.Limit), Expiration: s.Window, LimiterMiddleware: algorithm}
	if s.Key.InHeader() {
		config.KeyGenerator = func(c *fiber.Ctx) string { return c.Get(Field) }
	}
	return serveFiber(fibermiddleware.New(config))
}

// serveFiber has one context for each goroutine, as a connection of fasthttp has. To make it that of the next client
// is part of what is measured, also around the bare handler.
func serveFiber(middleware ...fiber.Handler) (func() Serve, error) {
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	for _, m := range middleware {
		app.Use(m)
	}
	app.Get("/", func(c *fiber.Ctx) error { return c.SendStatus(fiber.StatusOK) })
	handler := app.Handler()

	addresses, names := make([]net.Addr, Clients), make([]string, Clients)
	for i := range Clients {
		address, err := netip.ParseAddr(workload.Address(i))
		if err != nil {
			return nil, err
		}
		addresses[i] = net.TCPAddrFromAddrPort(netip.AddrPortFrom(address, 1234))
		names[i] = clientName(i)
	}
	return func() Serve {
		ctx := received()
		return func(client int) int {
			ctx.SetRemoteAddr(addresses[client])
			ctx.Request.Header.Set(Field, names[client])
			ctx.Response.Reset()
			handler(ctx)
			return ctx.Response.StatusCode()
		}
	}, nil
}

// received is a context with a request as fasthttp reads it off a connection: one that is put together of its parts
// looks different, to Fiber and to httplimit.
func received() *fasthttp.RequestCtx {
	ctx := new(fasthttp.RequestCtx)
	ctx.Init(&fasthttp.Request{}, nil, nil)
	head := "GET / HTTP/1.1\r\nHost: example.com\r\n" + Field + ": -\r\n\r\n"
	if err := ctx.Request.Read(bufio.NewReader(strings.NewReader(head))); err != nil {
		ctx.Error(err.Error(), fasthttp.StatusBadRequest) // which no benchmark takes for an answer
	}
	return ctx
}
