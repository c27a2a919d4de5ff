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
	onDeny := refuse
	for _, cfg := range config {
		if cfg.OnDeny != nil {
			onDeny = cfg.OnDeny
		}
	}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			o := check(m, c)
			o.SetFields(c.Response().Header())
			d, denied := o.Denied()
			if !denied {
				return serve(next, c, o)
			}
			defer o.Settle(d.Status)
			if d.Status != statusClientClosed {
				return onDeny(c, d)
			}
			if errors.Is(c.Request().Context().Err(), context.DeadlineExceeded) {
				return c.NoContent(http.StatusServiceUnavailable) // a time-out of our own: the client may still be there
			}
			return nil
		}
	}
}

// statusClientClosed is the status of a request whose client left before anything was written.
const statusClientClosed = 499

func serve(next echo.HandlerFunc, c echo.Context, o *httplimit.Outcome) error {
	ctx := c.Request().Context() // later handlers may give the request another one, and end it
	if o.Exposes() {
		c.SetRequest(c.Request().WithContext(o.Context()))
	}
	var up *upgrade
	if len(c.Request().Header["Upgrade"]) > 0 {
		up = &upgrade{ResponseWriter: c.Response().Writer, outcome: o}
		c.Response().Writer = up
	}
	status, returned := 0, false
	defer func() {
		switch {
		case up != nil && up.settled:
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
