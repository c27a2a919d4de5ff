package echo5limit

import (
	"net/http"

	"github.com/httplimit/httplimit"
	"github.com/labstack/echo/v5"
)

// Deny answers a request as the middleware answers those that it refuses: for handlers that call
// [httplimit.Middleware.Allow], with the refusal that [httplimit.Verdict.Denied] makes, and for an OnDeny that answers
// only some requests in a way of its own. It sets the header fields that are missing, and returns the [*Refusal] that
// the HTTPErrorHandler answers.
func Deny(c *echo.Context, d httplimit.Denial) error {
	if d.Status == 0 {
		d.Status = http.StatusTooManyRequests
	}
	d.SetFields(c.Response().Header(), c.Request())
	return refuse(c, d)
}
