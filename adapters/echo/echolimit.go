// Package echolimit is httplimit for Echo v4.
//
// It translates and decides nothing: rules, keys, limits, stores and what happens when a store is down are those of
// [httplimit.Config]. A refused request ends in an error, which the app's HTTPErrorHandler answers.
package echolimit

import (
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
	var onDeny func(echo.Context, httplimit.Denial) error
	for _, cfg := range config {
		if cfg.OnDeny != nil {
			onDeny = cfg.OnDeny
		}
	}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			o := m.CheckHTTP(c.Request(), c.Path(), contextKey{}, c)
			o.SetFields(c.Response().Header())
			if o.Status() != 0 {
				return deny(c, o, onDeny)
			}
			if o.Exposes() {
				c.SetRequest(c.Request().WithContext(o.Context()))
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
func From(r *http.Request) (echo.Context, bool) {
	c, ok := r.Context().Value(contextKey{}).(echo.Context)
	return c, ok
}

type contextKey struct{}

func serveCounted(next echo.HandlerFunc, c echo.Context, o *httplimit.Outcome) (err error) {
	var up *upgrade
	if len(c.Request().Header["Upgrade"]) > 0 {
		up = &upgrade{ResponseWriter: c.Response().Writer, outcome: o}
		c.Response().Writer = up
	}
	returned := false
	defer func() {
		if up != nil && up.settled.Swap(true) {
			return
		}
		if returned {
			settle(c, o, err)
		} else {
			o.SettleFailed(written(c))
		}
		o.Release()
	}()
	err = next(c)
	returned = true
	return err
}

// settle is for handlers that have returned err.
func settle(c echo.Context, o *httplimit.Outcome, err error) {
	status := written(c)
	if status == 0 && err != nil {
		if status = statusOf(err); status == 0 {
			o.SettleFailed(0)
			return
		}
	}
	o.Settle(status)
}

// written returns the status that was written, 0 for none.
func written(c echo.Context) int {
	if c.Response().Committed {
		return c.Response().Status
	}
	return 0
}

// statusOf returns the status that Echo's own HTTPErrorHandler takes from err, 0 if err has none.
func statusOf(err error) int {
	var known *echo.HTTPError
	if !errors.As(err, &known) {
		return 0
	}
	if inner, ok := known.Internal.(*echo.HTTPError); ok {
		return inner.Code
	}
	return known.Code
}
