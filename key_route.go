package httplimit

import (
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
)

// Route is the pattern that matched the request, so that each route has a bucket of its own. It is known where routing
// comes before the limiter:
//
//   - net/http: around the handlers of a [http.ServeMux]. Around the mux itself take [RouteOf].
//   - chi, from its v5.3.0 on: in With and Group of the router that has the route. Used by a router, by Use or inside
//     Route, the limiter runs before that router has routed: the pattern is "", or ends with the "/*" of the router's
//     mount. There take [RouteFrom].
//   - Gin and Echo: everywhere, but not below Echo's Pre. Fiber: in a limiter on the route; below Use it is the prefix
//     that Use has.
//
// A request that no route matches has no route: [ErrNoKey]; as a part of a [Compose] its route is the empty one, so that
// it shares one bucket with the others without a route that agree in all other parts. Where the first request has no
// pattern, or one ends with "/*" in net/http or chi, that is logged once. The path of a request is never a key: clients
// can write one route in any number of ways.
func Route() Key { return route{} }

// RouteOf is [Route] around a mux, before it has routed the request: it asks the mux. A CONNECT request that the mux
// would redirect has no route.
func RouteOf(mux *http.ServeMux) Key { return routeOf{mux} }

// RouteFrom is [Route] for a router that tells patterns in another way than [http.Request.Pattern]. The function returns
// the pattern of a request, "" if it has none; never a part of its path, which clients write as they like. In chi before
// v5.3.0, in With and Group:
//
//	httplimit.RouteFrom(func(r *http.Request) string { return chi.RouteContext(r.Context()).RoutePattern() })
//
// and in any version around a router, or in its Use, which runs before it has routed:
//
//	httplimit.RouteFrom(func(r *http.Request) string {
//		return router.Find(chi.NewRouteContext(), r.Method, cmp.Or(r.URL.RawPath, r.URL.Path))
//	})
func RouteFrom(pattern func(*http.Request) string) Key { return routeFrom(pattern) }

type (
	route     struct{}
	routeOf   struct{ mux *http.ServeMux }
	routeFrom func(*http.Request) string
)

func (route) sealed()     {}
func (routeOf) sealed()   {}
func (routeFrom) sealed() {}

func (route) compile(c *keyCompiler, _ string) keyNode { return routeKey(Request.Route, c.warnings) }

func (k routeOf) compile(c *keyCompiler, field string) keyNode {
	if k.mux == nil {
		c.fault(field, "the mux of RouteOf is nil, want the mux that the middleware wraps")
	}
	return textKey(k.find)
}

func (k routeFrom) compile(c *keyCompiler, field string) keyNode {
	if k == nil {
		c.fault(field, "the function of RouteFrom is nil, want one that returns the pattern of a request")
	}
	return routeKey(func(r Request) string { return k(r.HTTP()) }, c.warnings)
}

// routeKey returns the leaf of a key that is told the pattern, and may be asked too early.
func routeKey(pattern func(Request) string, warnings *keyWarnings) textKey {
	var known atomic.Bool // there was a request with a pattern
	return func(r Request) (string, error) {
		text := pattern(r)
		switch {
		case text == "":
			if !known.Load() {
				warnings.routeUnknown.raise("")
			}
			return "", nil // which is ErrNoKey, or an empty part of a Compose
		case strings.HasSuffix(text, "/*") && withoutFramework(r):
			warnings.routeUnfinished.raise(text)
		}
		if !known.Load() {
			known.Store(true)
		}
		return text, nil
	}
}

// withoutFramework reports whether r is of net/http alone, as it is in chi.
func withoutFramework(r Request) bool {
	own := ofHTTP(r)
	return own != nil && own.value == nil
}

// redirect is the type of the handlers that a mux makes itself.
var redirect = reflect.TypeOf(http.RedirectHandler("/", http.StatusTemporaryRedirect))

func (k routeOf) find(r Request) (string, error) {
	request := r.HTTP()
	handler, pattern := k.mux.Handler(request)
	if request.Method == http.MethodConnect && reflect.TypeOf(handler) == redirect {
		return "", nil // for the redirect of a CONNECT the mux tells the path that the client wrote, not the pattern
	}
	return pattern, nil
}
