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
//   - chi, from its v5.3.0 on: in With, and in Use inside of Group. By Use on a router, also that of a Route or Mount,
//     the limiter runs before this router has routed, and sees "" or a pattern that ends with "/*". There take
//     [RouteFrom].
//   - Gin and Echo: everywhere, but not in Echo's Pre.
//   - Fiber: in a limiter on the route itself. By Use it sees the prefix that Use has.
//
// A request that no route matches has no route: it is as [ErrNoKey], and beside other parts of a [Compose] an empty
// part. A limiter in the wrong place is logged once, where the first request has no pattern, or where in net/http or
// chi one ends with "/*". The path of a request is never a key: clients can write one route in any number of ways.
func Route() Key { return route{} }

// RouteOf is [Route] around a mux, before it has routed the request: it asks the mux. A CONNECT request that the mux
// answers with a redirect has no route.
func RouteOf(mux *http.ServeMux) Key { return routeOf{mux} }

// RouteFrom is [Route] for routers that are asked in another way than by [http.Request.Pattern]. The function returns
// the pattern of a request, "" if it has none; never a part of its path, which clients write as they like.
//
// Around a chi router, or by its Use, which runs before it has routed:
//
//	httplimit.RouteFrom(func(r *http.Request) string {
//		return router.Find(chi.NewRouteContext(), r.Method, cmp.Or(r.URL.RawPath, r.URL.Path))
//	})
//
// In With, and in Use inside of Group, for versions of chi before v5.3.0:
//
//	httplimit.RouteFrom(func(r *http.Request) string { return chi.RouteContext(r.Context()).RoutePattern() })
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
