package console

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// LocalOnly is a Viewer that lets in who sits at the machine itself, or reaches it through a tunnel such as ssh -L: the
// peer is a loopback address, the Host is localhost, 127.0.0.1 or [::1], and no proxy has touched the request. Behind a
// proxy on the same machine every peer is a loopback address; such requests have Forwarded, X-Forwarded-*, X-Real-Ip or
// Via. A proxy that adds none of them is not noticed unless it asks for another Host: do not mount a LocalOnly page
// where one reaches it. A web site whose name was pointed at 127.0.0.1 comes with its own name as Host.
func LocalOnly(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !peer.Addr().Unmap().IsLoopback() || !localHost(r.Host) {
		return false
	}
	for name := range r.Header {
		switch {
		case name == "Forwarded", name == "X-Real-Ip", name == "Via", strings.HasPrefix(name, "X-Forwarded-"):
			return false
		}
	}
	return true
}

func localHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	switch strings.ToLower(host) {
	case "localhost", "127.0.0.1", "::1", "[::1]":
		return true
	}
	return false
}
