package fiberlimit

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync"

	"github.com/gofiber/fiber/v2"
	"github.com/httplimit/httplimit"
)

// request is a [httplimit.Request]. Fiber's strings lie in a buffer that the next request overwrites, so whatever may
// be kept is copied.
type request struct {
	c    *fiber.Ctx
	http *http.Request // nil until somebody asks
}

// requests spare an allocation for each request.
var requests = sync.Pool{New: func() any { return new(request) }}

func check(m *httplimit.Middleware, c *fiber.Ctx) *httplimit.Outcome {
	r := requests.Get().(*request)
	r.c = c
	o := m.Check(r)
	*r = request{}
	requests.Put(r)
	return o
}

func (r *request) Context() context.Context { return r.c.UserContext() }
func (r *request) Method() string           { return r.c.Method() }
func (r *request) Route() string            { return r.c.Route().Path } // the app's own string

// RemoteAddr is "" where fasthttp has 0.0.0.0 because it knows no address.
func (r *request) RemoteAddr() string {
	peer := r.c.Context().RemoteAddr()
	tcp, ok := peer.(*net.TCPAddr)
	if !ok {
		return peer.String()
	}
	at := tcp.AddrPort()
	ip := at.Addr().Unmap()
	if !ip.IsValid() || ip.IsUnspecified() {
		return ""
	}
	return netip.AddrPortFrom(ip, at.Port()).String()
}

func (r *request) Values(name string) []string {
	header := &r.c.Request().Header
	if !plain(header, r.c.App().Config().DisableHeaderNormalizing) {
		return r.HTTP().Header.Values(name)
	}
	lines := header.PeekAll(name)
	if len(lines) == 0 {
		return nil
	}
	values := make([]string, len(lines))
	for i, line := range lines {
		values[i] = string(line)
	}
	return values
}

func (r *request) HTTP() *http.Request {
	if r.http == nil {
		r.http = convert(r.c, r.RemoteAddr())
	}
	return r.http
}
