package frameworks_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/fasthttp/websocket"
	"github.com/gofiber/fiber/v2"
	"github.com/httplimit/httplimit"
	fiberlimit "github.com/httplimit/httplimit/adapters/fiber"
)

// serveFiber has Fiber itself take the client from whatever stands in X-Forwarded-For.
func serveFiber(t *testing.T, at net.Listener, a app) {
	cfg := fiber.Config{DisableStartupMessage: true, ProxyHeader: "X-Forwarded-For", StreamRequestBody: a.streamBodies}
	if a.errorStatus != 0 {
		cfg.ErrorHandler = func(c *fiber.Ctx, _ error) error { return c.Status(a.errorStatus).SendString("sorry") }
	}
	service := fiber.New(cfg)
	service.Use(func(c *fiber.Ctx) (err error) {
		c.SetUserContext(a.enter(a.base()))
		defer a.left()
		defer func() {
			if recover() != nil {
				err = fiber.ErrInternalServerError
			}
		}()
		return c.Next()
	})
	for _, limit := range a.fiber(a.around) {
		service.Use(limit)
	}
	service.All("/items/:id", append(a.fiber(a.onRoute), func(c *fiber.Ctx) error {
		return writeFiber(c, a.item(c.UserContext(), c.Params("id")))
	})...)
	service.All("/quota", func(c *fiber.Ctx) error { return writeFiber(c, a.quota(fiberlimit.Request(c))) })
	service.All("/open", func(c *fiber.Ctx) error { return c.SendString("open") })
	service.All("/events", a.sendFiberEvents)
	service.All("/ws", sendBackFiber)
	service.All("/download", func(c *fiber.Ctx) error {
		return c.SendStream(io.LimitReader(zeros{}, largeBody), largeBody)
	})

	served := make(chan struct{})
	go func() { defer close(served); _ = service.Listener(at) }()
	// Its connections end with their clients. Shutdown would look for that only every 100 ms.
	t.Cleanup(func() { at.Close(); <-served })
}

func (a app) fiber(ms []*httplimit.Middleware) []fiber.Handler {
	var cfg fiberlimit.Config
	if a.deny {
		cfg.OnDeny = func(c *fiber.Ctx, d httplimit.Denial) error { return c.Status(d.Status).SendString(denied(d)) }
	}
	handlers := make([]fiber.Handler, len(ms))
	for i, m := range ms {
		handlers[i] = fiberlimit.New(m, cfg)
	}
	return handlers
}

func writeFiber(c *fiber.Ctx, y reply) error {
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

func (a app) sendFiberEvents(c *fiber.Ctx) error {
	ctx := c.UserContext() // c is another request's by the time the stream is written
	c.Set(fiber.HeaderContentType, "text/event-stream")
	c.Context().SetBodyStreamWriter(func(w *bufio.Writer) {
		a.events(ctx, func(event string) {
			_, _ = w.WriteString(event)
			_ = w.Flush()
		})
	})
	return nil
}

func sendBackFiber(c *fiber.Ctx) error {
	var upgrader websocket.FastHTTPUpgrader
	return upgrader.Upgrade(c.Context(), func(conn *websocket.Conn) {
		for {
			kind, message, err := conn.ReadMessage()
			if err != nil || conn.WriteMessage(kind, message) != nil {
				return
			}
		}
	})
}
