package frameworks_test

import (
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/httplimit/httplimit"
	echo5limit "github.com/httplimit/httplimit/adapters/echo5"
	"github.com/labstack/echo/v5"
)

// serveEcho5 has Echo itself find clients in X-Forwarded-For, from every private peer.
func serveEcho5(t *testing.T, at net.Listener, a app) {
	e := echo.New()
	e.IPExtractor = echo.ExtractIPFromXFFHeader()
	if a.errorStatus != 0 {
		standard := e.HTTPErrorHandler
		e.HTTPErrorHandler = func(c *echo.Context, err error) {
			answer, unwrapErr := echo.UnwrapResponse(c.Response())
			if errors.Is(err, errHandler) && unwrapErr == nil && !answer.Committed {
				_ = c.String(a.errorStatus, "sorry")
				return
			}
			standard(c, err)
		}
	}
	e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c *echo.Context) (err error) {
			defer a.left()
			c.SetRequest(c.Request().WithContext(a.enter(c.Request().Context())))
			defer func() {
				if cause := recover(); cause != nil {
					err = fmt.Errorf("recovered: %v", cause)
				}
			}()
			return next(c)
		}
	})
	e.Use(a.echo5(a.around)...)
	e.Any("/items/:id", func(c *echo.Context) error {
		return writeEcho5(c, a.item(c.Request().Context(), c.Param("id")))
	}, a.echo5(a.onRoute)...)
	e.Any("/quota", func(c *echo.Context) error { return writeEcho5(c, a.quota(echo5limit.Request(c))) })
	e.Any("/open", func(c *echo.Context) error { open(c.Response(), c.Request()); return nil })
	e.Any("/events", func(c *echo.Context) error { a.sendEvents(c.Response(), c.Request()); return nil })
	e.Any("/ws", func(c *echo.Context) error { sendBack(c.Response(), c.Request()); return nil })
	e.Any("/download", echo.WrapHandler(a.large()))
	a.serveHandler(t, at, e)
}

func (a app) echo5(ms []*httplimit.Middleware) []echo.MiddlewareFunc {
	var cfg echo5limit.Config
	if a.deny {
		cfg.OnDeny = func(c *echo.Context, d httplimit.Denial) error { return c.String(d.Status, denied(d)) }
	}
	layers := make([]echo.MiddlewareFunc, len(ms))
	for i, m := range ms {
		layers[i] = echo5limit.New(m, cfg)
	}
	return layers
}

func writeEcho5(c *echo.Context, y reply) error {
	switch {
	case y.err != nil && y.status == 0:
		return y.err
	case y.err != nil:
		return echo.NewHTTPError(y.status, "sorry").Wrap(y.err)
	case y.body == "" && y.status != 0:
		return c.NoContent(y.status)
	case y.status != 0:
		return c.String(y.status, y.body)
	}
	return nil
}
