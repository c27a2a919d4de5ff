// Package echolimit is httplimit for Echo v4.
//
// It translates and decides nothing: rules, keys, limits, stores and what happens when a store is down are those of
// [httplimit.Config]. A refused request ends in an error, which the app's HTTPErrorHandler answers.
package echolimit

import (
	"context"
	"errors"
	"net/http"

	"github.com/httplimit/httplimit"
	"github.com/labstack/echo/v4"
)

// Config is what can be told to [New]. Its zero value works.
type Config struct {
	// OnDeny answers refused requests, for example with c.JSON, or returns an error for the HTTPErrorHandler. Nil
	// means an [*echo.HTTPError] whose Message is d: Echo's own HTTPErrorHandler makes the problem document
	// of it that httplimit answers with everywhere, and one of the app's may make anything else. The fields of the
	// refusal are set before OnDeny is called. It is not called for a client that has left.
	OnDeny func(c echo.Context, d httplimit.Denial) error
}

// New makes middleware of m, for Use, a group or a single route. A request counts once for each such middleware that
// it passes, and its answer carries the fields of all of them. Of several configs the last OnDeny that is set holds.
// The OnDeny of httplimit.Config is not used.
//
// httplimit.Route is c.Path(): the pattern without its method. It is "" below Pre, where Echo has not routed yet.
//
// A rule with CountStatus is settled when the next handler returns, before the HTTPErrorHandler has run: with the
// status of the answer if it is written, else with that of the error, which is 500 if it is no [*echo.HTTPError], and
// 500 after a panic. A connection that is taken over after a request with an Upgrade field settles at once, as 101.
func New(m *httplimit.Middleware, config ...Config) echo.MiddlewareFunc {
	onDeny := problemError
	for _, cfg := range config {
		if cfg.OnDeny != nil {
			onDeny = cfg.OnDeny
		}
	}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			o := m.CheckHTTP(c.Request(), c.Path(), contextKey{}, c)
			o.SetFields(c.Response().Header())
			if d, denied := o.Denied(); denied {
				if d.Status == statusClientClosed {
					o.Refuse(c.Response(), c.Request())
					return nil
				}
				defer o.Settle(d.Status)
				return onDeny(c, d)
			}
			if o.Exposes() {
				c.SetRequest(c.Request().WithContext(o.Context()))
			}
			if o.Counts() {
				return serveCounted(next, c, o)
			}
			o.Settle(http.StatusOK) // nothing depends on the status
			return next(c)
		}
	}
}

// From returns the Echo context of a request that a KeyFunc, LimitFunc, Cost or When was called with, and whether there
// is one: not where the same Middleware serves another framework. The context must not be kept.
func From(r *http.Request) (echo.Context, bool) {
	c, ok := r.Context().Value(contextKey{}).(echo.Context)
	return c, ok
}

type contextKey struct{}

// statusClientClosed is the status of a request whose client left before anything was written.
const statusClientClosed = 499

func serveCounted(next echo.HandlerFunc, c echo.Context, o *httplimit.Outcome) error {
	ctx := c.Request().Context() // later handlers may give the request another one, and end it
	var up *upgrade
	if len(c.Request().Header["Upgrade"]) > 0 {
		up = &upgrade{ResponseWriter: c.Response().Writer, outcome: o}
		c.Response().Writer = up
	}
	status, returned := 0, false
	defer func() {
		switch {
		case up != nil && up.settled.Swap(true):
		case returned:
			o.Settle(status)
		case c.Response().Committed:
			o.SettlePanic(c.Response().Status)
		default:
			o.SettlePanic(0)
		}
	}()
	err := next(c)
	status, returned = statusOf(c.Response(), err, ctx), true
	return err
}

func statusOf(answer *echo.Response, err error, ctx context.Context) int {
	switch {
	case answer.Committed:
		return answer.Status
	case err != nil:
		return statusOfError(err, ctx)
	case ctx.Err() != nil:
		return statusClientClosed
	}
	return answer.Status
}

// statusOfError is the status that Echo's own HTTPErrorHandler takes.
func statusOfError(err error, ctx context.Context) int {
	var known *echo.HTTPError
	if !errors.As(err, &known) {
		if ctx.Err() != nil {
			return statusClientClosed
		}
		return http.StatusInternalServerError
	}
	if inner, ok := known.Internal.(*echo.HTTPError); ok {
		return inner.Code
	}
	return known.Code
}
