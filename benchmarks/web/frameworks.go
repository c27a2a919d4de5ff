package web

import (
	"io"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/httplimit/httplimit"
	echolimit "github.com/httplimit/httplimit/adapters/echo"
	ginlimit "github.com/httplimit/httplimit/adapters/gin"
	"github.com/labstack/echo/v4"
	echomiddleware "github.com/labstack/echo/v4/middleware"
	ululegin "github.com/ulule/limiter/v3/drivers/middleware/gin"
	"golang.org/x/time/rate"
)

func ginBare(Setup) (func() Session, error) { return serveGin(), nil }

func ginOwn(s Setup) (func() Session, error) {
	m, err := own(s)
	return serveGin(ginlimit.New(m)), err
}

func ginUlule(s Setup) (func() Session, error) {
	var options []ululegin.Option
	if s.Key.InHeader() {
		options = append(options, ululegin.WithKeyGetter(func(c *gin.Context) string { return c.GetHeader(Field) }))
	}
	return serveGin(ululegin.NewMiddleware(ululeLimiter(s), options...)), nil
}

func serveGin(middleware ...gin.HandlerFunc) func() Session {
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.Use(middleware...)
	engine.GET("/", func(c *gin.Context) { c.Status(http.StatusOK) })
	return serve(engine)
}

func echoBare(Setup) (func() Session, error) { return serveEcho(), nil }

func echoOwn(s Setup) (func() Session, error) {
	m, err := own(s)
	return serveEcho(echolimit.New(m)), err
}

// echoOwnAlike refuses with the error that Echo's own middleware refuses with.
func echoOwnAlike(s Setup) (func() Session, error) {
	m, err := own(s)
	return serveEcho(echolimit.New(m, echolimit.Config{OnDeny: func(echo.Context, httplimit.Denial) error {
		exceeded := echomiddleware.ErrRateLimitExceeded
		return &echo.HTTPError{Code: exceeded.Code, Message: exceeded.Message}
	}})), err
}

// echoRival sends clients nothing about their limits: Echo's own middleware writes no such fields.
func echoRival(s Setup) (func() Session, error) {
	config := echomiddleware.DefaultRateLimiterConfig
	config.Store = echomiddleware.NewRateLimiterMemoryStoreWithConfig(echomiddleware.RateLimiterMemoryStoreConfig{
		Rate: rate.Limit(float64(s.Limit) / s.Window.Seconds()), Burst: int(s.Limit), ExpiresIn: s.Window,
	})
	if s.Key.InHeader() {
		config.IdentifierExtractor = func(c echo.Context) (string, error) { return c.Request().Header.Get(Field), nil }
	}
	return serveEcho(echomiddleware.RateLimiterWithConfig(config)), nil
}

func serveEcho(middleware ...echo.MiddlewareFunc) func() Session {
	e := echo.New()
	e.Logger.SetOutput(io.Discard)
	e.Use(middleware...)
	e.GET("/", func(c echo.Context) error { return c.NoContent(http.StatusOK) })
	return serve(e)
}
