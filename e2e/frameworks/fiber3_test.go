package frameworks_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/fasthttp/websocket"
	"github.com/gofiber/fiber/v3"
	"github.com/httplimit/httplimit"
	fiber3limit "github.com/httplimit/httplimit/adapters/fiber3"
)

// serveFiber3 has Fiber itself take the client from whatever stands in X-Forwarded-For.
func serveFiber3(t *testing.T, at net.Listener, a app) {
	cfg := fiber.Config{ProxyHeader: "X-Forwarded-For", StreamRequestBody: a.streamBodies}
	if a.errorStatus != 0 {
		cfg.ErrorHandler = func(c fiber.Ctx, _ error) error { return c.Status(a.errorStatus).SendString("sorry") }
	}
	service := fiber.New(cfg)
	service.Use(func(c fiber.Ctx) (err error) {
		c.SetContext(a.enter(a.base()))
		defer a.left()
		defer func() {
			if recover() != nil {
				err = fiber.ErrInternalServerError
			}
		}()
		return c.Next()
	})
	for _, limit := range a.fiber3(a.around) {
		service.Use(limit)
	}
	item := func(c fiber.Ctx) error { return writeFiber3(c, a.item(c.Context(), c.Params("id"))) }
	var layers []any
	for _, limit := range append(a.fiber3(a.onRoute), item) {
		layers = append(layers, limit)
	}
	service.All("/items/:id", layers[0], layers[1:]...)
	service.All("/quota", func(c fiber.Ctx) error { return writeFiber3(c, a.quota(fiber3limit.Request(c))) })
	service.All("/open", func(c fiber.Ctx) error { return c.SendString("open") })
	service.All("/events", a.sendFiber3Events)
	service.All("/ws", sendBackFiber3)
	service.All("/download", func(c fiber.Ctx) error {
		return c.SendStream(io.LimitReader(zeros{}, largeBody), largeBody)
	})

	served := make(chan struct{})
	go func() { defer close(served); _ = service.Listener(at, fiber.ListenConfig{DisableStartupMessage: true}) }()
	// Its connections end with their clients. Shutdown would look for that only every 100 ms.
	t.Cleanup(func() { at.Close(); <-served })
}

func (a app) fiber3(ms []*httplimit.Middleware) []fiber.Handler {
	var cfg fiber3limit.Config
	if a.deny {
		cfg.OnDeny = func(c fiber.Ctx, d httplimit.Denial) error { return c.Status(d.Status).SendString(denied(d)) }
	}
	handlers := make([]fiber.Handler, len(ms))
	for i, m := range ms {
		handlers[i] = fiber3limit.New(m, cfg)
	}
	return handlers
}

func writeFiber3(c fiber.Ctx, y reply) error {
	switch {
	case y.err != nil && y.status == 0:
		return y.err
	case y.err != nil:
		return errors.Join(y.err, fiber.NewError(y.status, "sorry"))
	case y.status != 0:
		return c.Status(y.status).SendString(y.body)
	}
	return nil
}

func (a app) sendFiber3Events(c fiber.Ctx) error {
	ctx := c.Context() // c is another request's by the time the stream is written
	c.Set(fiber.HeaderContentType, "text/event-stream")
	c.RequestCtx().SetBodyStreamWriter(func(w *bufio.Writer) {
		a.events(ctx, func(event string) {
			_, _ = w.WriteString(event)
			_ = w.Flush()
		})
	})
	return nil
}

func sendBackFiber3(c fiber.Ctx) error {
	var upgrader websocket.FastHTTPUpgrader
	return upgrader.Upgrade(c.RequestCtx(), func(conn *websocket.Conn) {
		for {
			kind, message, err := conn.ReadMessage()
			if err != nil || conn.WriteMessage(kind, message) != nil {
				return
			}
		}
	})
}
