package console

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// LocalOnly is a Viewer that lets in who sits at the machine itself, or reaches it through a tunnel such as ssh -L: the
// peer is a loopback address, the Host is localhost, 127.0.0.1 or [::1], and nothing shows that a proxy has touched the
// request. Behind a proxy on the same machine every peer is a loopback address, and nginx replaces the Host by the
// address that it asks: such requests have Forwarded, X-Forwarded-*, X-Real-Ip, Via or the like, or they are HTTP/1.0,
// which nginx speaks unless it is told otherwise, and browsers and curl do not. A proxy that speaks HTTP/1.1, asks for
// localhost and adds nothing cannot be told from a person: do not mount a LocalOnly page where one reaches it. A web
// site whose name was pointed at 127.0.0.1 comes with its own name as Host.
func LocalOnly(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !peer.Addr().Unmap().IsLoopback() || !localHost(r.Host) || !r.ProtoAtLeast(1, 1) {
		return false
	}
	for name := range r.Header {
		if proxyFields[name] || strings.HasPrefix(name, "X-Forwarded-") {
			return false
		}
	}
	return true
}

// proxyFields are header fields that proxies add, in canonical form.
var proxyFields = map[string]bool{
	"Forwarded": true, "Via": true, "X-Real-Ip": true, "X-Client-Ip": true, "X-Cluster-Client-Ip": true,
	"True-Client-Ip": true, "Cf-Connecting-Ip": true, "X-Original-Forwarded-For": true, "X-Envoy-External-Address": true,
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
