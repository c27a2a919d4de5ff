package fiber3limit

import (
	"github.com/gofiber/fiber/v3"
	"github.com/httplimit/httplimit"
)

// Deny answers a request as the middleware answers those that it refuses: for handlers that call
// [httplimit.Middleware.Allow], with the refusal that [httplimit.Verdict.Denied] makes, and for an OnDeny that answers
// only some requests in a way of its own. It sets the header fields that are missing, and writes the answer itself: the
// error is nil unless the answer could not be written.
func Deny(c fiber.Ctx, d httplimit.Denial) error {
	if d.Status == 0 {
		d.Status = fiber.StatusTooManyRequests
	}
	if c.Request().IsBodyStream() {
		// fasthttp would take what nobody has read of the body for the next request on the connection.
		c.RequestCtx().SetConnectionClose()
	}
	h := &c.Response().Header
	for name, value := range d.Fields() {
		if len(h.Peek(name)) == 0 {
			h.Set(name, value)
		}
	}
	body, err := d.MarshalJSON()
	if err != nil {
		return err
	}
	c.Status(d.Status).RequestCtx().SetContentType("application/problem+json")
	c.Response().SetBody(body)
	return nil
}
