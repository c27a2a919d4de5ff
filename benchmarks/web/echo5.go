package web

import (
	"log/slog"
	"net/http"

	"github.com/httplimit/httplimit"
	echo5limit "github.com/httplimit/httplimit/adapters/echo5"
	"github.com/labstack/echo/v5"
	echo5middleware "github.com/labstack/echo/v5/middleware"
)

func echo5Bare(Setup) (func() Session, error) { return serveEcho5(), nil }

func echo5Own(s Setup) (func() Session, error) {
	m, err := own(s)
	return serveEcho5(echo5limit.New(m)), err
}

// echo5OwnAlike refuses with the error that Echo's own middleware refuses with.
func echo5OwnAlike(s Setup) (func() Session, error) {
	m, err := own(s)
	return serveEcho5(echo5limit.New(m, echo5limit.Config{OnDeny: func(*echo.Context, httplimit.Denial) error {
		return echo5middleware.ErrRateLimitExceeded.Wrap(nil)
	}})), err
}

// echo5Rival tells clients their limit and what remains of it, which that of Echo v4 does not.
func echo5Rival(s Setup) (func() Session, error) {
	config := echo5middleware.DefaultRateLimiterConfig
	config.Store = echo5middleware.NewRateLimiterMemoryStoreWithConfig(echo5middleware.RateLimiterMemoryStoreConfig{
		Rate: float64(s.Limit) / s.Window.Seconds(), Burst: int(s.Limit), ExpiresIn: s.Window,
	})
	if s.Key.InHeader() {
		config.IdentifierExtractor = func(c *echo.Context) (string, error) { return c.Request().Header.Get(Field), nil }
	}
	return serveEcho5(echo5middleware.RateLimiterWithConfig(config)), nil
}

func serveEcho5(middleware ...echo.MiddlewareFunc) func() Session {
	e := echo.New()
	e.Logger = slog.New(slog.DiscardHandler)
	e.Use(middleware...)
	e.GET("/", func(c *echo.Context) error { return c.NoContent(http.StatusOK) })
	return serve(e)
}
