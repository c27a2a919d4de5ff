// Package echo5limit is httplimit for Echo v5.
//
// It translates and decides nothing: rules, keys, limits, stores and what happens when a store is down are those of
// [httplimit.Config]. A refused request ends in an error, which the app's HTTPErrorHandler answers.
package echo5limit

import (
	"net/http"

	"github.com/httplimit/httplimit"
	"github.com/labstack/echo/v5"
)

// Config is what can be told to [New]. Its zero value works.
type Config struct {
	// OnDeny answers refused requests, for example with c.JSON, or returns an error for the HTTPErrorHandler. Nil
	// means a [*Refusal]: Echo's own HTTPErrorHandler makes the problem document of it that httplimit answers with
	// everywhere, and one of the app's may make anything else. The fields of the refusal are set before OnDeny is
	// called.
	OnDeny func(c *echo.Context, d httplimit.Denial) error
}

// New makes middleware of m, for Use, a group or a single route. A request counts once for each such middleware that
// it passes, and its answer carries the fields of all of them. Of several configs the last OnDeny that is set holds.
// The OnDeny of httplimit.Config is not used.
//
// httplimit.Route is c.Path(): the pattern without its method. It is "" below Pre, where Echo has not routed yet.
//
// A rule with CountStatus is settled with the status of the answer, when the next handler returns. Where that returns
// an error and has written nothing, it is settled when the error is answered, by the HTTPErrorHandler or by middleware
// around this one, with the status that it becomes; an error that nobody answers counts. What a handler writes past
// Echo's own [*echo.Response] is not seen, nor by Echo, and settles as 200. A panic is 500 unless a status was sent
// before, which stays. A connection that is taken over after a request with an Upgrade field settles at once, as 101. A
// rule with InFlight gets its places back when the next handler returns, whatever becomes of an error.
func New(m *httplimit.Middleware, config ...Config) echo.MiddlewareFunc {
	var onDeny func(*echo.Context, httplimit.Denial) error
	for _, cfg := range config {
		if cfg.OnDeny != nil {
			onDeny = cfg.OnDeny
		}
	}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c *echo.Context) error {
			o := m.CheckHTTP(c.Request(), c.Path(), contextKey{}, c)
			o.SetFields(c.Response().Header())
			if o.Status() != 0 {
				return deny(c, o, onDeny)
			}
			if o.Exposes() {
				c.SetRequest(c.Request().WithContext(o.Context()))
			}
			if leave := o.Hold(); leave != nil {
				defer leave()
			}
			if o.Counts() {
				return serveCounted(next, c, o)
			}
			o.Release() // nothing depends on the status
			return next(c)
		}
	}
}

// From returns the Echo context of a request that a KeyFunc, LimitFunc, Cost or When was called with, and whether there
// is one: not where the same Middleware serves another framework. The context must not be kept.
func From(r *http.Request) (*echo.Context, bool) {
	c, ok := r.Context().Value(contextKey{}).(*echo.Context)
	return c, ok
}

type contextKey struct{}
