// Package ginlimit is httplimit for Gin.
//
// It translates and decides nothing: rules, keys, limits, stores and what happens when a store is down are those of
// [httplimit.Config]. A refused request is aborted, so that no later handler runs.
package ginlimit

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/httplimit/httplimit"
)

// Config is what can be told to [New]. Its zero value works.
type Config struct {
	// OnDeny answers refused requests, for example with c.JSON; nil means d.ServeHTTP(c.Writer, c.Request). The
	// fields of the refusal are set and the request is aborted before it is called. It is not called for a
	// client that has left.
	OnDeny func(c *gin.Context, d httplimit.Denial)
}

// New makes a handler of m, for an engine, a group or a single route. A request counts once for each such handler that
// it passes, and its answer carries the fields of all of them. Of several configs the last OnDeny that is set holds.
// The OnDeny of httplimit.Config is not used.
//
// httplimit.Route is c.FullPath(): the pattern without its method, "" where no route matched.
//
// A rule with CountStatus is settled with the status at c.Next's return, 500 after a panic, and 500 too where handlers
// left errors with c.Error and wrote nothing. So middleware that turns errors into answers belongs between New and the
// handler. A connection that is taken over after a request with an Upgrade field settles at once, as 101.
func New(m *httplimit.Middleware, config ...Config) gin.HandlerFunc {
	var onDeny func(*gin.Context, httplimit.Denial)
	for _, cfg := range config {
		if cfg.OnDeny != nil {
			onDeny = cfg.OnDeny
		}
	}
	return func(c *gin.Context) {
		o := m.CheckHTTP(c.Request, c.FullPath(), contextKey{}, c)
		o.SetFields(c.Writer.Header())
		if o.Status() != 0 {
			c.Abort()
			deny(c, o, onDeny)
			return
		}
		if o.Exposes() {
			c.Request = c.Request.WithContext(o.Context())
		}
		if o.Counts() {
			serveCounted(c, o)
			return
		}
		o.Release() // nothing depends on the status
		c.Next()
	}
}

// From returns the Gin context of a request that a KeyFunc, LimitFunc, Cost or When was called with, and whether there
// is one: not where the same Middleware serves another framework. The context must not be kept.
func From(r *http.Request) (*gin.Context, bool) {
	c, ok := r.Context().Value(contextKey{}).(*gin.Context)
	return c, ok
}

type contextKey struct{}

func deny(c *gin.Context, o *httplimit.Outcome, onDeny func(*gin.Context, httplimit.Denial)) {
	defer o.Release()
	if onDeny == nil || o.Abandoned() {
		o.ServeHTTP(c.Writer, c.Request)
		return
	}
	d, _ := o.Denied()
	onDeny(c, d)
}

func serveCounted(c *gin.Context, o *httplimit.Outcome) {
	var up *upgrade
	if len(c.Request.Header["Upgrade"]) > 0 {
		up = &upgrade{ResponseWriter: c.Writer, outcome: o}
		c.Writer = up
	}
	returned := false
	defer func() {
		if up != nil && up.settled.Swap(true) {
			return
		}
		if returned {
			settle(c, o)
		} else {
			o.SettleFailed(written(c))
		}
		o.Release()
	}()
	c.Next()
	returned = true
}

// settle is for handlers that have returned.
func settle(c *gin.Context, o *httplimit.Outcome) {
	status := written(c)
	if set := c.Writer.Status(); set != http.StatusOK {
		status = set // Gin writes a status that was only set when all handlers have returned
	}
	if status == 0 && len(c.Errors) > 0 {
		o.SettleFailed(0)
		return
	}
	o.Settle(status)
}

// written returns the status that was written, 0 for none.
func written(c *gin.Context) int {
	if c.Writer.Written() {
		return c.Writer.Status()
	}
	return 0
}
