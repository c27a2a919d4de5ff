package web

import (
	"github.com/gofiber/fiber/v2"
	fibermiddleware "github.com/gofiber/fiber/v2/middleware/limiter"
	"github.com/httplimit/httplimit"
	fiberlimit "github.com/httplimit/httplimit/adapters/fiber"
)

func fiberBare(Setup) (func() Session, error) { return serveFiber() }

func fiberOwn(s Setup) (func() Session, error) {
	m, err := own(s)
	if err != nil {
		return nil, err
	}
	return serveFiber(fiberlimit.New(m))
}

// fiberOwnAlike refuses as Fiber's own middleware does: with a bare status.
func fiberOwnAlike(s Setup) (func() Session, error) {
	m, err := own(s)
	if err != nil {
		return nil, err
	}
	return serveFiber(fiberlimit.New(m, fiberlimit.Config{OnDeny: func(c *fiber.Ctx, d httplimit.Denial) error {
		return c.SendStatus(d.Status)
	}}))
}

func fiberFixed(s Setup) (func() Session, error) { return fiberRival(s, fibermiddleware.FixedWindow{}) }

func fiberSliding(s Setup) (func() Session, error) {
	return fiberRival(s, fibermiddleware.SlidingWindow{})
}

func fiberRival(s Setup, algorithm fibermiddleware.LimiterHandler) (func() Session, error) {
	config := fibermiddleware.Config{Max: int(s.Limit), Expiration: s.Window, LimiterMiddleware: algorithm}
	if s.Key.InHeader() {
		config.KeyGenerator = func(c *fiber.Ctx) string { return c.Get(Field) }
	}
	return serveFiber(fibermiddleware.New(config))
}

func serveFiber(middleware ...fiber.Handler) (func() Session, error) {
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	for _, m := range middleware {
		app.Use(m)
	}
	app.Get("/", func(c *fiber.Ctx) error { return c.SendStatus(fiber.StatusOK) })
	return serveFast(app.Handler())
}
