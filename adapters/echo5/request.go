package echo5limit

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v5"
)

// Request returns the request of c as rules see it: [From] finds c in it, and its Pattern is c.Path(), which is
// [httplimit.Route]. It is for a handler that calls [httplimit.Middleware.PeekRequest] or [httplimit.ClientAddr]:
//
//	verdicts, err := m.PeekRequest(echo5limit.Request(c))
//
// It must not be kept.
func Request(c *echo.Context) *http.Request {
	r := c.Request().WithContext(context.WithValue(c.Request().Context(), contextKey{}, c))
	r.Pattern = c.Path()
	return r
}
