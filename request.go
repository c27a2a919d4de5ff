package httplimit

import (
	"context"
	"io"
	"net/http"
	"reflect"
)

// Request is what the middleware needs to know of a request. [HTTPRequest] makes one of net/http's; adapters for
// other frameworks bring their own. It is used by one goroutine, until [Middleware.Check] returns.
//
// A Request may also have the method LendLine(header string) (line string, ok bool). It is asked before Values where a
// key is a field of one line, and saves its copies: it returns the only line of a field, valid until Check returns, or
// false where there are other than one.
type Request interface {
	// Context ends when the client has left. The store is asked with its values, and without its end.
	Context() context.Context
	// Method is the request method, such as "GET".
	Method() string
	// RemoteAddr is the address of the socket peer as net/http writes it, "192.0.2.7:1234", or without the port.
	RemoteAddr() string
	// Values returns all lines of a header field, in order, safe to keep after the request. The name may be
	// spelled in any case.
	Values(header string) []string
	// Route is the pattern that matched the request, "" if it is not known (yet).
	Route() string
	// HTTP returns the request in net/http's form, for what the team wrote: a KeyFunc, When, Cost, LimitFunc or
	// Observer. It is called once at most, and only for those.
	HTTP() *http.Request
}

// HTTPRequest returns r as a [Request]. Its Route is r.Pattern, which a mux sets before it calls a handler.
func HTTPRequest(r *http.Request) Request { return &httpRequest{r: r} }

// httpRequest is a request of net/http's, or of a framework that stands on it.
type httpRequest struct {
	r       *http.Request
	value   any // what a framework has functions find in the context, under key; nil: there is no framework
	key     any
	route   string        // by the framework
	carrier *http.Request // of the value; nil until somebody asks
	body    io.ReadCloser // that the carrier began with
}

func (h *httpRequest) Context() context.Context { return h.r.Context() }
func (h *httpRequest) Method() string           { return h.r.Method }
func (h *httpRequest) RemoteAddr() string       { return h.r.RemoteAddr }

func (h *httpRequest) Values(header string) []string {
	if values := h.r.Header[header]; values != nil {
		return values // a canonical name needs no conversion
	}
	return h.r.Header.Values(header)
}

func (h *httpRequest) Route() string {
	if h.value == nil {
		return h.r.Pattern
	}
	return h.route
}

func (h *httpRequest) HTTP() *http.Request {
	if h.value == nil {
		return h.r
	}
	if h.carrier == nil {
		h.carrier, h.body = h.r.WithContext(context.WithValue(h.r.Context(), h.key, h.value)), h.r.Body
	}
	return h.carrier
}

// handBack gives the framework's request what a function has done to the carrier: one that reads the body has parsed a
// form into it, or has put another body in its place, and the handler has to find that. What the function has done to
// the framework's request itself stays.
func (h *httpRequest) handBack() {
	c := h.carrier
	if c == nil {
		return
	}
	if !sameBody(c.Body, h.body) {
		h.r.Body = c.Body
	}
	if h.r.Form == nil {
		h.r.Form = c.Form
	}
	if h.r.PostForm == nil {
		h.r.PostForm = c.PostForm
	}
	if h.r.MultipartForm == nil {
		h.r.MultipartForm = c.MultipartForm
	}
}

func sameBody(a, b io.ReadCloser) bool {
	return reflect.ValueOf(&a).Elem().Comparable() && a == b
}

// foreignRequest is the request of an adapter, which is asked once for its net/http form.
type foreignRequest struct {
	Request
	http *http.Request // nil until somebody asks
}

func (f *foreignRequest) HTTP() *http.Request {
	if f.http == nil {
		f.http = f.Request.HTTP()
	}
	return f.http
}

// lendLine returns the only line of a header field, valid until Check returns, if r has one and can lend it.
func lendLine(r Request, header string) (line string, ok bool) {
	if f, foreign := r.(*foreignRequest); foreign {
		if lender, can := f.Request.(interface{ LendLine(string) (string, bool) }); can {
			return lender.LendLine(header)
		}
	}
	return "", false
}

// ofHTTP returns the request of net/http's that r is; nil if it is another framework's.
func ofHTTP(r Request) *httpRequest {
	if f, ok := r.(*foreignRequest); ok {
		r = f.Request
	}
	own, _ := r.(*httpRequest)
	return own
}

// isPreflight reports whether r is a CORS preflight: an OPTIONS request alone is not.
func isPreflight(r Request) bool {
	return r.Method() == http.MethodOptions && has(r, "Origin") && has(r, "Access-Control-Request-Method")
}

func has(r Request, header string) bool {
	values := r.Values(header)
	return len(values) > 0 && values[0] != ""
}
