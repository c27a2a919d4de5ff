package fiber3limit

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/gofiber/fiber/v3"
)

// request is a [httplimit.Request]. Fiber's strings lie in a buffer that the next request overwrites, so whatever may
// be kept is copied.
type request struct{ c fiber.Ctx }

func (r request) Context() context.Context { return r.c.Context() }
func (r request) Method() string           { return r.c.Method() }
func (r request) Route() string            { return r.c.FullPath() } // the app's own string
func (r request) HTTP() *http.Request      { return convert(r.c) }

// RemoteAddr leaves the port out.
func (r request) RemoteAddr() string {
	at, other := peer(r.c)
	if at.IsValid() {
		return at.Addr().String()
	}
	return other
}

// peer is where the client connected from: an address, another one as text, or nothing where fasthttp has 0.0.0.0
// because it knows no address.
func peer(c fiber.Ctx) (at netip.AddrPort, other string) {
	tcp, ok := c.RequestCtx().RemoteAddr().(*net.TCPAddr)
	if !ok {
		return at, c.RequestCtx().RemoteAddr().String()
	}
	at = tcp.AddrPort()
	if ip := at.Addr().Unmap(); ip.IsValid() && !ip.IsUnspecified() {
		return netip.AddrPortFrom(ip, at.Port()), ""
	}
	return netip.AddrPort{}, ""
}

func (r request) Values(name string) []string {
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
