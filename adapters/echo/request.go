package echolimit

import (
	"context"
	"net/http"
	"sync"

	"github.com/httplimit/httplimit"
	"github.com/labstack/echo/v4"
)

// From returns the Echo context of a request that a KeyFunc, LimitFunc, Cost or When was called with, and whether there
// is one: not where the same Middleware serves another framework. The context must not be kept.
func From(r *http.Request) (echo.Context, bool) {
	c, ok := r.Context().Value(contextKey{}).(echo.Context)
	return c, ok
}

type contextKey struct{}

// request is a [httplimit.Request].
type request struct {
	c    echo.Context
	http *http.Request // with c in its context; nil until somebody asks
}

// requests spare an allocation for each request.
var requests = sync.Pool{New: func() any { return new(request) }}

func check(m *httplimit.Middleware, c echo.Context) *httplimit.Outcome {
	r := requests.Get().(*request)
	r.c = c
	o := m.Check(r)
	*r = request{}
	requests.Put(r)
	return o
}

func (r *request) Context() context.Context    { return r.c.Request().Context() }
func (r *request) Method() string              { return r.c.Request().Method }
func (r *request) RemoteAddr() string          { return r.c.Request().RemoteAddr }
func (r *request) Values(name string) []string { return r.c.Request().Header.Values(name) }
func (r *request) Route() string               { return r.c.Path() }

func (r *request) HTTP() *http.Request {
	if r.http == nil {
		r.http = r.c.Request().WithContext(context.WithValue(r.Context(), contextKey{}, r.c))
	}
	return r.http
}
