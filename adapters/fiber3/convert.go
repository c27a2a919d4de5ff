package fiber3limit

import (
	"context"
	"net/http"
	"net/url"

	"github.com/gofiber/fiber/v3"
	"github.com/valyala/fasthttp"
)

// From returns the Fiber context of a request that a KeyFunc, LimitFunc, Cost or When was called with, and whether
// there is one: not where the same Middleware serves another framework. The context must not be kept, nor must its
// strings without a copy, but a KeyFunc may return them. What r holds may be kept. The Body of r is empty: c.Body() has
// it.
func From(r *http.Request) (fiber.Ctx, bool) {
	c, ok := r.Context().Value(contextKey{}).(fiber.Ctx)
	return c, ok
}

type contextKey struct{}

// Request returns the request of c as rules see it: [From] finds c in it, and its Pattern is c.FullPath(), which is
// [httplimit.Route]. It is for a handler that calls [httplimit.Middleware.PeekRequest] or [httplimit.ClientAddr]:
//
//	verdicts, err := m.PeekRequest(fiber3limit.Request(c))
//
// Its Body is empty, and its context must not be kept.
func Request(c fiber.Ctx) *http.Request {
	r := convert(c)
	r.Pattern = c.FullPath()
	return r
}

// convert copies all but the body into net/http's form.
func convert(c fiber.Ctx) *http.Request {
	from := &c.Request().Header
	at, remote := peer(c)
	if at.IsValid() {
		remote = at.String()
	}
	r := &http.Request{
		Method:        string(from.Method()),
		RequestURI:    string(from.RequestURI()),
		Proto:         string(from.Protocol()),
		Header:        fields(from),
		Body:          http.NoBody,
		ContentLength: bodyLength(from),
		Host:          string(c.RequestCtx().Host()),
		RemoteAddr:    remote,
		TLS:           c.RequestCtx().TLSConnectionState(),
	}
	r.ProtoMajor, r.ProtoMinor, _ = http.ParseHTTPVersion(r.Proto)
	r.URL = target(c, r.RequestURI)
	return r.WithContext(context.WithValue(c.Context(), contextKey{}, c))
}

// bodyLength is -1 for a chunked body. Where no field announces a body, which is -2 to fasthttp, there is none.
func bodyLength(header *fasthttp.RequestHeader) int64 {
	const untold = -2
	length := header.ContentLength()
	if length == untold {
		return 0
	}
	return int64(length)
}

// target reads the request target as net/http does. Where that would have refused it, fasthttp's reading stands.
func target(c fiber.Ctx, uri string) *url.URL {
	if read, err := url.ParseRequestURI(uri); err == nil {
		return read
	}
	return &url.URL{Path: string(c.RequestCtx().Path()), RawQuery: string(c.RequestCtx().QueryArgs().QueryString())}
}
