package httplimit

import (
	"net/netip"
	"strconv"
	"strings"
)

// host is an address as it is compared: IPv4-mapped addresses are IPv4, and there is no zone. text is the address as
// it stands in the request if that is how netip writes it too (IPv4 has one form only), else "": it saves writing it
// again.
type host struct {
	addr netip.Addr
	text string
}

// parsePeer reads http.Request.RemoteAddr: "192.0.2.7:80", "[2001:db8::1]:443", and, where a middleware rewrote it,
// a bare address. The port does not matter. Unix sockets ("@", "", a path) and pipes have no address.
func parsePeer(s string) (host, bool) {
	addr, port := splitPort(s)
	if port != "" && port[0] != ':' {
		return host{}, false
	}
	return parseHost(addr)
}

// leadingIPv4 is a shortcut for the commonest peer, which is on the way of every request: it returns the address in
// "192.0.2.7:80" or "192.0.2.7" if that is what parsePeer would find. Where it is false, parsePeer has to decide.
func leadingIPv4(s string) (address string, ok bool) {
	first, end := octet(s, 0)
	bits := first
	for range 3 {
		if end >= len(s) || s[end] != '.' {
			return "", false
		}
		var next int
		next, end = octet(s, end+1)
		bits |= next
	}
	const multicast = 0xE // in the first four bits
	if bits > 255 || bits == 0 || first>>4 == multicast {
		return "", false
	}
	return s[:end], end == len(s) || s[end] == ':' && strings.IndexByte(s[end+1:], ':') < 0
}

// octet reads the number that begins at from. It is above 255 if there is none, or one that netip would not take.
func octet(s string, from int) (value, end int) {
	for end = from; end < len(s); end++ {
		digit := s[end] - '0'
		if digit > 9 {
			break
		}
		value = 10*value + int(digit)
	}
	if n := end - from; n == 0 || n > 3 || n > 1 && s[from] == '0' {
		return 256, end
	}
	return value, end
}

// parseElement reads the one address of an element of X-Forwarded-For or of a single-value header. Some proxies write
// a port, and brackets around IPv6.
func parseElement(s string) (host, bool) {
	addr, port := splitPort(strings.Trim(s, " \t"))
	if port != "" && !isPort(port) {
		return host{}, false
	}
	return parseHost(addr)
}

// parseNode reads the value of for= in Forwarded: as parseElement, but the port may be obfuscated (RFC 7239, section
// 6). "unknown" and obfuscated names are no addresses.
func parseNode(s string) (host, bool) {
	addr, port := splitPort(s)
	if obfuscated, ok := strings.CutPrefix(port, ":_"); port != "" && !isPort(port) && !(ok && isToken(obfuscated)) {
		return host{}, false
	}
	return parseHost(addr)
}

// splitPort parts the address from what follows it, its colon included, and takes brackets off. A bare IPv6 address
// has more than one colon, so nothing follows it.
func splitPort(s string) (addr, port string) {
	if strings.HasPrefix(s, "[") {
		if end := strings.IndexByte(s, ']'); end >= 0 {
			return s[1:end], s[end+1:]
		}
		return s, ""
	}
	if colon := strings.IndexByte(s, ':'); colon >= 0 && colon == strings.LastIndexByte(s, ':') {
		return s[:colon], s[colon:]
	}
	return s, ""
}

func isPort(s string) bool {
	const most = len(":65535")
	if len(s) < 2 || len(s) > most || s[0] != ':' {
		return false
	}
	_, err := strconv.ParseUint(s[1:], 10, 16)
	return err == nil
}

// parseHost reads an address that can be somebody's: not an unspecified one, which stands for "none" (fasthttp has
// 0.0.0.0 for peers that are not TCP), nor a multicast one. netip takes no octal, hexadecimal or short forms.
func parseHost(s string) (host, bool) {
	text := s
	if percent := strings.IndexByte(s, '%'); percent >= 0 {
		// Cut off here: netip would intern the zone, and clients can send any number of them.
		if percent == len(s)-1 || strings.IndexByte(s[:percent], ':') < 0 {
			return host{}, false
		}
		s = s[:percent]
	}
	addr, err := netip.ParseAddr(s)
	if err != nil {
		return host{}, false
	}
	if !addr.Is4() {
		text, addr = "", addr.Unmap()
	}
	if addr.IsUnspecified() || addr.IsMulticast() {
		return host{}, false
	}
	return host{addr: addr, text: text}, true
}
