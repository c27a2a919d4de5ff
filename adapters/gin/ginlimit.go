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
	// fields of the refusal are set and the request is aborted before it is called.
	OnDeny func(c *gin.Context, d httplimit.Denial)
}

// New makes a handler of m, for an engine, a group or a single route. A request counts once for each such handler that
// it passes, and its answer carries the fields of all of them. Of several configs the last OnDeny that is set holds.
// The OnDeny of httplimit.Config is not used.
//
// httplimit.Route is c.FullPath(): the pattern without its method, "" where no route matched.
//
// A rule with CountStatus is settled with the status at c.Next's return. Where handlers have left errors with c.Error
// and written nothing, it is settled when middleware around this one writes the answer, with the status that it has
// then; if none does, the request counts. What middleware around this one answers where they left nothing at all is not
// seen, and settles as 200. A panic is 500 unless a status was sent before, which stays. A connection that is taken
// over after a request with an Upgrade field settles at once, as 101. A rule with InFlight gets its places back when
// c.Next returns.
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
		if leave := o.Hold(); leave != nil {
			defer leave()
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
	if onDeny == nil {
		o.ServeHTTP(c.Writer, c.Request)
		return
	}
	d, _ := o.Denied()
	onDeny(c, d)
}
