package fiberlimit

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"unsafe"

	"github.com/gofiber/fiber/v2"
	"github.com/httplimit/httplimit"
)

// request is a [httplimit.Request]. Fiber's strings lie in a buffer that the next request overwrites, so whatever may
// be kept is copied.
type request struct {
	c       *fiber.Ctx
	address [39]byte // of RemoteAddr, as long as one of IPv6 can be; with a zone it may be longer
}

// requests keeps the memory of requests that were checked.
var requests = sync.Pool{New: func() any { return new(request) }}

// check decides on the request of c.
func check(m *httplimit.Middleware, c *fiber.Ctx) *httplimit.Outcome {
	r := requests.Get().(*request)
	r.c = c
	o := m.Check(r)
	r.c = nil
	requests.Put(r)
	return o
}

func (r *request) Context() context.Context { return r.c.UserContext() }
func (r *request) Method() string           { return r.c.Method() }
func (r *request) Route() string            { return r.c.Route().Path } // the app's own string
func (r *request) HTTP() *http.Request      { return convert(r.c) }

// RemoteAddr leaves the port out. The text lies in r, which serves other requests later: what Check makes a key of is
// used by then, or copied, as it is for a KeyFunc that returns a string of Fiber's.
func (r *request) RemoteAddr() string {
	at, other := peer(r.c)
	if at.IsValid() {
		return asString(at.Addr().AppendTo(r.address[:0]))
	}
	return other
}

// peer is where the client connected from: an address, another one as text, or nothing where fasthttp has 0.0.0.0
// because it knows no address.
func peer(c *fiber.Ctx) (at netip.AddrPort, other string) {
	tcp, ok := c.Context().RemoteAddr().(*net.TCPAddr)
	if !ok {
		return at, c.Context().RemoteAddr().String()
	}
	at = tcp.AddrPort()
	if ip := at.Addr().Unmap(); ip.IsValid() && !ip.IsUnspecified() {
		return netip.AddrPortFrom(ip, at.Port()), ""
	}
	return netip.AddrPort{}, ""
}

// LendLine returns the only line of a field as it lies in Fiber's buffer.
func (r *request) LendLine(name string) (line string, ok bool) {
	header := &r.c.Request().Header
	if !plain(header, r.c.App().Config().DisableHeaderNormalizing) || strings.EqualFold(name, fiber.HeaderCookie) {
		return "", false
	}
	if lines := header.PeekAll(name); len(lines) == 1 {
		return asString(lines[0]), true
	}
	return "", false
}

// asString returns text as a string that changes with it, as Fiber's own strings do.
func asString(text []byte) string { return unsafe.String(unsafe.SliceData(text), len(text)) }

func (r *request) Values(name string) []string {
	header := &r.c.Request().Header
	if strings.EqualFold(name, fiber.HeaderCookie) {
		return cookies(header)
	}
	if !plain(header, r.c.App().Config().DisableHeaderNormalizing) {
		return allLines(header, name)
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
