package clientip

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// oracle is the walk of a Config again, slow and obvious: all elements in one list, addresses recognised by patterns.
type oracle struct {
	header  string
	trusted []netip.Prefix
	hops    int
	unix    bool
}

var (
	bracketed = regexp.MustCompile(`(?s)^\[([^\]]*)\](:.*)?$`)
	onePort   = regexp.MustCompile(`^([^:]*)(:[^:]*)$`)
	zoned     = regexp.MustCompile(`(?s)^(.*?:.*?)%.+$`)
	port      = regexp.MustCompile(`^:0*([0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|` +
		`65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])$`)
	hidden    = regexp.MustCompile("^:_[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
	parameter = regexp.MustCompile("^([A-Za-z0-9!#$%&'*+.^_`|~-]+)=" +
		"(\"(?s:.*)\"[ \t]*|[][:A-Za-z0-9!#$%&'*+.^_`|~-]+[ \t]*)$")
)

// address reads an address whose port, with its colon, is accepted.
func address(s string, accepted func(port string) bool) (netip.Addr, bool) {
	for _, form := range []*regexp.Regexp{bracketed, onePort} {
		if m := form.FindStringSubmatch(s); m != nil {
			if m[2] != "" && !accepted(m[2]) {
				return netip.Addr{}, false
			}
			s = m[1]
			break
		}
	}
	if m := zoned.FindStringSubmatch(s); m != nil {
		s = m[1]
	}
	addr, err := netip.ParseAddr(s)
	addr = addr.Unmap()
	return addr, err == nil && !addr.IsUnspecified() && !addr.IsMulticast()
}

// elements is every element from left to right; one that is no address is the zero Addr.
func (o oracle) elements(lines []string) []netip.Addr {
	var list []netip.Addr
	for _, line := range lines {
		if !strings.EqualFold(o.header, "Forwarded") {
			for _, text := range strings.Split(line, ",") {
				addr, ok := address(strings.Trim(text, " \t"), func(p string) bool { return len(p) <= 6 && port.MatchString(p) })
				list = append(list, valid(addr, ok))
			}
			continue
		}
		for _, element := range forwardedElements(line) {
			list = append(list, forwardedAddress(element))
		}
	}
	return list
}

func valid(addr netip.Addr, ok bool) netip.Addr {
	if !ok {
		return netip.Addr{}
	}
	return addr
}

// lastElement matches a line up to a ',', and behind it what has no other one outside quoted strings that follow '='.
var lastElement = regexp.MustCompile(`(?s)^(.*),((?:[^",]|="(?:\\"|[^"])*")*)$`)

// forwardedElements cuts off one element after the other from the right.
func forwardedElements(line string) []string {
	m := lastElement.FindStringSubmatch(line)
	if m == nil {
		return []string{line}
	}
	return append(forwardedElements(m[1]), m[2])
}

// splitOutsideQuotes goes byte by byte. ok is false if a quoted string does not follow '=' or does not end.
func splitOutsideQuotes(s string, separator byte) (list []string, ok bool) {
	start, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case quoted && s[i] == '"':
			quoted = false
		case quoted:
		case s[i] == '"' && (i == 0 || s[i-1] != '='):
			return nil, false
		case s[i] == '"':
			quoted = true
		case s[i] == separator:
			list, start = append(list, s[start:i]), i+1
		}
	}
	return append(list, s[start:]), !quoted
}

func forwardedAddress(element string) netip.Addr {
	pairs, ok := splitOutsideQuotes(element, ';')
	if !ok {
		return netip.Addr{}
	}
	var values []string
	for _, pair := range pairs {
		pair = strings.TrimLeft(pair, " \t")
		if pair == "" {
			continue
		}
		m := parameter.FindStringSubmatch(pair)
		if m == nil {
			return netip.Addr{}
		}
		if strings.EqualFold(m[1], "for") {
			values = append(values, unquoted(strings.TrimRight(m[2], " \t")))
		}
	}
	if len(values) != 1 {
		return netip.Addr{}
	}
	accepted := func(p string) bool { return len(p) <= 6 && port.MatchString(p) || hidden.MatchString(p) }
	return valid(address(values[0], accepted))
}

func unquoted(s string) string {
	if !strings.HasPrefix(s, `"`) {
		return s
	}
	text := ""
	for s = s[1 : len(s)-1]; s != ""; s = s[1:] {
		if s[0] == '\\' {
			s = s[1:]
		}
		text += s[:1]
	}
	return text
}

func (o oracle) trusts(addr netip.Addr) bool {
	for _, network := range o.trusted {
		if network.Contains(addr) {
			return true
		}
	}
	return false
}

// client is the client's address; the zero Addr means that there is none.
func (o oracle) client(remote string, lines []string) netip.Addr {
	peer := valid(address(remote, func(string) bool { return true }))
	trusted := o.unix
	if peer.IsValid() {
		trusted = o.trusts(peer) || o.hops > 0 && len(o.trusted) == 0
	}
	if !trusted {
		return peer
	}
	list := o.elements(lines)
	switch {
	case o.hops > 0:
		if n := len(list) - o.hops; n >= 0 && list[n].IsValid() {
			return list[n]
		}
		return peer
	case !strings.EqualFold(o.header, "X-Forwarded-For") && !strings.EqualFold(o.header, "Forwarded"):
		if distinct := slices.Compact(slices.Clone(lines)); len(distinct) > 1 {
			return netip.Addr{}
		} else if len(distinct) == 1 {
			addr := valid(address(strings.Trim(lines[0], " \t"),
				func(p string) bool { return len(p) <= 6 && port.MatchString(p) }))
			if addr.IsValid() {
				return addr
			}
		}
		return peer
	}
	at := peer
	for i := len(list) - 1; i >= 0 && list[i].IsValid(); i-- {
		if at.IsValid() && !o.trusts(at) {
			break
		}
		at = list[i]
	}
	return at
}

// bucket is the text of an address's bucket with the default bits.
func bucket(addr netip.Addr) string {
	if !addr.IsValid() {
		return noAddress
	}
	if raw := addr.As16(); netip.MustParsePrefix("64:ff9b::/96").Contains(addr) {
		addr = netip.AddrFrom4([4]byte(raw[12:]))
	}
	if addr.Is4() {
		return addr.String()
	}
	return netip.PrefixFrom(addr, 64).Masked().String()
}
