package web

import (
	"github.com/gofiber/fiber/v3"
	fiber3middleware "github.com/gofiber/fiber/v3/middleware/limiter"
	"github.com/httplimit/httplimit"
	fiber3limit "github.com/httplimit/httplimit/adapters/fiber3"
)

func fiber3Bare(Setup) (func() Session, error) { return serveFiber3() }

func fiber3Own(s Setup) (func() Session, error) {
	m, err := own(s)
	if err != nil {
		return nil, err
	}
	return serveFiber3(fiber3limit.New(m))
}

// fiber3OwnAlike refuses as Fiber's own middleware does: with a bare status.
func fiber3OwnAlike(s Setup) (func() Session, error) {
	m, err := own(s)
	if err != nil {
		return nil, err
	}
	return serveFiber3(fiber3limit.New(m, fiber3limit.Config{OnDeny: func(c fiber.Ctx, d httplimit.Denial) error {
		return c.SendStatus(d.Status)
	}}))
}

func fiber3Fixed(s Setup) (func() Session, error) {
	return fiber3Rival(s, fiber3middleware.FixedWindow{})
}

func fiber3Sliding(s Setup) (func() Session, error) {
	return fiber3Rival(s, fiber3middleware.SlidingWindow{})
}

func fiber3Rival(s Setup, algorithm fiber3middleware.Handler) (func() Session, error) {
	config := fiber3middleware.Config{Max: int(s.Limit), Expiration: s.Window, LimiterMiddleware: algorithm}
	if s.Key.InHeader() {
		config.KeyGenerator = func(c fiber.Ctx) string { return c.Get(Field) }
	}
	return serveFiber3(fiber3middleware.New(config))
}

func serveFiber3(middleware ...fiber.Handler) (func() Session, error) {
	app := fiber.New()
	for _, m := range middleware {
		app.Use(m)
	}
	app.Get("/", func(c fiber.Ctx) error { return c.SendStatus(fiber.StatusOK) })
	return serveFast(app.Handler())
}
