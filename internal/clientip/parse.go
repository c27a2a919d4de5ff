package clientip

import (
	"net/netip"
	"strconv"
	"strings"
)

// parsePeer reads http.Request.RemoteAddr: "192.0.2.7:80", "[2001:db8::1]:443", and, where a middleware rewrote it,
// a bare address. The port does not matter. Unix sockets ("@", "", a path) and pipes have no address.
func parsePeer(s string) (netip.Addr, string) {
	addr, port := splitPort(s)
	if port != "" && port[0] != ':' {
		return netip.Addr{}, ""
	}
	return parseAddress(addr)
}

// WithoutPort reports whether s, written as in http.Request.RemoteAddr, is an address without a port.
func WithoutPort(s string) bool {
	addr, port := splitPort(s)
	if port != "" {
		return false
	}
	found, _ := parseAddress(addr)
	return found.IsValid()
}

// leadingIPv4 is a shortcut for the commonest peer: it returns the address in "192.0.2.7:80" or "192.0.2.7" if that is
// what parsePeer would find. Where ok is false, parsePeer has to decide.
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
func parseElement(s string) (netip.Addr, string) {
	addr, port := splitPort(strings.Trim(s, " \t"))
	if port != "" && !isPort(port) {
		return netip.Addr{}, ""
	}
	return parseAddress(addr)
}

// parseNode reads the value of for= in Forwarded: as parseElement, but the port may be obfuscated (RFC 7239, section
// 6). "unknown" and obfuscated names are no addresses.
func parseNode(s string) (netip.Addr, string) {
	addr, port := splitPort(s)
	obfuscated, ok := strings.CutPrefix(port, ":_")
	if port != "" && !isPort(port) && !(ok && IsToken(obfuscated)) {
		return netip.Addr{}, ""
	}
	return parseAddress(addr)
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

// parseAddress reads an address that a host can have: not an unspecified one, which stands for "none" (fasthttp has
// 0.0.0.0 for peers that are not TCP), nor a multicast one. netip takes no octal, hexadecimal or short forms.
// IPv4-mapped addresses become IPv4, and zones are dropped.
//
// text is s for IPv4 addresses, of which netip takes only the form that it writes: s saves writing it again. For
// others it is "".
func parseAddress(s string) (addr netip.Addr, text string) {
	text = s
	if percent := strings.IndexByte(s, '%'); percent >= 0 {
		// Cut off here: netip would intern the zone, and clients can send any number of them.
		if percent == len(s)-1 || strings.IndexByte(s[:percent], ':') < 0 {
			return netip.Addr{}, ""
		}
		s = s[:percent]
	}
	addr, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Addr{}, ""
	}
	if !addr.Is4() {
		text, addr = "", addr.Unmap()
	}
	if addr.IsUnspecified() || addr.IsMulticast() {
		return netip.Addr{}, ""
	}
	return addr, text
}

// IsToken reports whether s is a token of RFC 9110, section 5.6.2, such as the name of a field.
func IsToken(s string) bool {
	for i := range len(s) {
		if !isTokenByte(s[i]) {
			return false
		}
	}
	return s != ""
}

func isTokenByte(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}
