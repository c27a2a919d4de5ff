// Package fiberlimit is httplimit for Fiber v2.
//
// It translates and decides nothing: rules, keys, limits, stores and what happens when a store is down are those of
// [httplimit.Config]. It speaks to Fiber directly, without its adaptor to net/http, which loses all but the last line
// of a repeated header field.
package fiberlimit

import (
	"github.com/gofiber/fiber/v2"
	"github.com/httplimit/httplimit"
)

// Config is what can be told to [New]. Its zero value works.
type Config struct {
	// OnDeny answers refused requests, for example with c.Status(d.Status).JSON(...), or returns an error for the
	// app's ErrorHandler; nil means the problem document that httplimit answers with everywhere. The fields of
	// the refusal are set before it is called.
	OnDeny func(c *fiber.Ctx, d httplimit.Denial) error
}

// New makes a handler of m, for an app, a group or a single route. A request counts once for each such handler that it
// passes, and its answer carries the fields of all of them. Of several configs the last OnDeny that is set holds. The
// OnDeny of httplimit.Config is not used.
//
// httplimit.ClientIP sees the socket peer and all lines of the header that it is told to read: Fiber's own ProxyHeader
// and trusted proxies do not matter. Keys of credentials see what Fiber's c.Get and c.Cookies find, in trailers too;
// the request that a KeyFunc is given has no trailers, see [From]. httplimit.Route is c.Route().Path, the pattern
// without its method: that of the route whose handler this is, so below Use that of Use. The request's context is
// c.UserContext(), which does not end by itself when the client leaves.
//
// A rule with CountStatus is settled with the status of the answer when c.Next returns. Where that returns an error,
// New has the app's ErrorHandler answer it, as Fiber's own logger does, settles with the status that it becomes, and
// returns nil. So for requests that such a rule applies to, middleware that wants to see errors, or makes others of
// them, belongs between New and the handler. A panic is 500.
//
// A rule with InFlight gets its places back when c.Next returns, and where the answer is a stream then, such as one of
// SetBodyStreamWriter, when that has ended. A connection that is taken over, such as a WebSocket, is served after the
// handler has returned, and holds no place by then.
func New(m *httplimit.Middleware, config ...Config) fiber.Handler {
	var onDeny func(*fiber.Ctx, httplimit.Denial) error
	for _, cfg := range config {
		if cfg.OnDeny != nil {
			onDeny = cfg.OnDeny
		}
	}
	return func(c *fiber.Ctx) error {
		o := check(m, c)
		setFields(c, o)
		if o.Status() != 0 {
			return deny(c, o, onDeny)
		}
		if o.Exposes() {
			c.SetUserContext(o.Context())
		}
		if leave := o.Hold(); leave != nil {
			defer leaveAfter(c, leave)
		}
		if o.Counts() {
			return serveCounted(c, o)
		}
		o.Release() // nothing depends on the status
		return c.Next()
	}
}

// setFields adds the fields that may stand in several lines to those of other layers, and replaces all others.
func setFields(c *fiber.Ctx, o *httplimit.Outcome) {
	h := &c.Response().Header
	o.EachField(func(name string, value []byte, adds bool) {
		if adds {
			h.AddBytesV(name, value)
		} else {
			h.SetCanonical([]byte(name), value)
		}
	})
}

func deny(c *fiber.Ctx, o *httplimit.Outcome, onDeny func(*fiber.Ctx, httplimit.Denial) error) error {
	if c.Request().IsBodyStream() {
		// fasthttp would take what nobody has read of the body for the next request on the connection.
		c.Context().SetConnectionClose()
	}
	defer o.Release()
	if onDeny != nil {
		d, _ := o.Denied()
		return onDeny(c, d)
	}
	c.Status(o.Status()).Context().SetContentType("application/problem+json")
	c.Response().SetBody(o.Problem()) // also for HEAD: fasthttp sends its length only
	return nil
}
