package httplimit

import "net/http"

// Route is the pattern that matched the request, so that each route has a bucket of its own; requests that match none
// share one. It is known where routing comes before the limiter: inside the handlers of a [http.ServeMux], in the
// adapters, in groups of chi from its v5.3.0 on. Around a ServeMux take [RouteOf]. The path of a request is never a
// key: clients can write one route in any number of ways.
func Route() Key { return route{} }

// RouteOf is [Route] around a mux, before it has routed the request: it asks the mux.
func RouteOf(mux *http.ServeMux) Key { return routeOf{mux} }

type (
	route   struct{}
	routeOf struct{ mux *http.ServeMux }
)

func (route) sealed()   {}
func (routeOf) sealed() {}

func (k route) compile(*keyCompiler, string) keyNode { return textKey(k.find) }

func (route) find(r Request) (string, error) { return r.Route(), nil }

func (k routeOf) compile(c *keyCompiler, field string) keyNode {
	if k.mux == nil {
		c.fault(field, "the mux of RouteOf is nil, want the mux that the middleware wraps")
	}
	return textKey(k.find)
}

func (k routeOf) find(r Request) (string, error) {
	request := r.HTTP()
	_, pattern := k.mux.Handler(request)
	if request.Method == http.MethodConnect && pattern == request.URL.Path+"/" {
		pattern = "" // a redirect, for which the mux returns the path that the client wrote
	}
	return pattern, nil
}
