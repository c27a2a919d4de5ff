package httplimit

import (
	"fmt"
	"net/netip"
	"strings"
)

// clientResolver finds the address of a client as a [ClientIPConfig] says. Immutable but for its warnings.
type clientResolver struct {
	header             string // canonical; "" for the socket peer
	proxies            []netip.Prefix
	hops               int
	trustUnix          bool
	ipv4Bits, ipv6Bits int
	peerOnly           bool // the peer is the client, and a whole address of IPv4 a bucket
	nat64              []netip.Prefix
	warnings           *addressWarnings
}

func (c *clientResolver) find(r Request) (identity, error) {
	if text, ok := c.plainPeer(r); ok {
		return identity{text: text, plain: true}, nil
	}
	at, ok := c.client(r)
	if !ok {
		return identity{}, ErrNoKey
	}
	return c.bucket(at), nil
}

// plainPeer is a shortcut for a peer of IPv4 whose address is the client's and the bucket's.
func (c *clientResolver) plainPeer(r Request) (address string, ok bool) {
	if !c.peerOnly {
		return "", false
	}
	if address, ok = leadingIPv4(r.RemoteAddr()); ok && !c.warnings.untrustedHeader.done() {
		c.warnings.untrustedHeader.look(r, headerXFF, headerForwarded, c.header)
	}
	return address, ok
}

// given turns the text of an address into its bucket. That of a bucket stands for it.
func (c *clientResolver) given(text string) (identity, error) {
	if at, ok := parseHost(text); ok {
		return c.bucket(at), nil
	}
	if network, err := netip.ParsePrefix(text); err == nil {
		return identity{network: network.Masked()}, nil
	}
	return identity{}, fmt.Errorf("%q is no address and no bucket of addresses, want such as 192.0.2.7 or 2001:db8:1:2::/64", text)
}

func (c *clientResolver) client(r Request) (at host, ok bool) {
	peer, hasAddress := parsePeer(r.RemoteAddr())
	if !hasAddress && !c.trustUnix {
		c.warnings.peerWithoutAddress.raise()
	}
	switch {
	case !c.trustsAnything():
		c.warnings.untrustedHeader.look(r, headerXFF, headerForwarded, c.header)
		return peer, hasAddress
	case !c.trustsPeer(peer, hasAddress):
		c.warnings.untrustedPeer.look(r, c.header)
		return peer, hasAddress
	}
	switch values := r.Values(c.header); {
	case c.hops > 0:
		at, ok = c.count(values)
	case c.header == headerXFF, c.header == headerForwarded:
		return c.walk(values, peer, hasAddress)
	case len(values) > 0:
		at, ok = parseElement(values[len(values)-1])
	}
	if !ok {
		c.warnings.endedAtProxy.raise()
		return peer, hasAddress
	}
	return at, true
}

func (c *clientResolver) trustsAnything() bool {
	return c.header != "" && (len(c.proxies) > 0 || c.hops > 0 || c.trustUnix)
}

func (c *clientResolver) trustsPeer(peer host, hasAddress bool) bool {
	if !hasAddress {
		return c.trustUnix
	}
	return c.trusts(peer) || c.hops > 0 && len(c.proxies) == 0
}

func (c *clientResolver) trusts(h host) bool {
	for _, network := range c.proxies {
		if network.Contains(h.addr) {
			return true
		}
	}
	return false
}

// count returns the element that lies as many places from the right as there are proxies.
func (c *clientResolver) count(lines []string) (host, bool) {
	elements := chain{lines: lines, forwarded: c.header == headerForwarded}
	for range c.hops - 1 {
		if _, more := elements.next(); !more {
			return host{}, false
		}
	}
	element, _ := elements.next() // none is "", which is no address
	return elements.address(element)
}

// walk goes from the peer to the left for as long as it stands on a trusted hop and that hop names an address.
func (c *clientResolver) walk(lines []string, peer host, hasAddress bool) (host, bool) {
	elements := chain{lines: lines, forwarded: c.header == headerForwarded}
	at, ok := peer, hasAddress
	for !ok || c.trusts(at) {
		element, _ := elements.next() // none is "", which is no address
		next, valid := elements.address(element)
		if !valid {
			c.warnings.endedAtProxy.raise()
			break
		}
		at, ok = next, true
	}
	return at, ok
}

// bucket is what the clients at and around an address share.
func (c *clientResolver) bucket(h host) identity {
	addr, text := h.addr, h.text
	if addr.Is6() {
		for _, network := range c.nat64 {
			if network.Contains(addr) {
				bits := addr.As16()
				addr = netip.AddrFrom4([4]byte(bits[nat64Bits/8:]))
				break
			}
		}
	}
	bits := c.ipv6Bits
	if addr.Is4() {
		bits = c.ipv4Bits
		if text != "" && bits == 32 {
			return identity{text: text, plain: true}
		}
	}
	network, _ := addr.Prefix(bits) // the bits are in range: prepare saw to it
	return identity{network: network}
}

// chain hands out the elements of a header from the right, over all its lines.
type chain struct {
	lines     []string // not begun
	line      string   // what is left of the line begun
	begun     bool
	forwarded bool // Forwarded, else X-Forwarded-For
}

// next returns the next element to the left. more is false if there is none.
func (c *chain) next() (element string, more bool) {
	if !c.begun {
		last := len(c.lines) - 1
		if last < 0 {
			return "", false
		}
		c.line, c.lines = c.lines[last], c.lines[:last]
		if c.forwarded && !wellQuoted(c.line) {
			return "", true // nobody can tell its elements apart: the whole line is one that is no address
		}
	}
	comma := strings.LastIndexByte(c.line, ',')
	if c.forwarded {
		comma = lastUnquotedComma(c.line)
	}
	c.begun = comma >= 0
	element = c.line[comma+1:]
	c.line = c.line[:max(comma, 0)]
	return element, true
}

// address reads an element.
func (c *chain) address(element string) (host, bool) {
	if !c.forwarded {
		return parseElement(element)
	}
	node, ok := forwardedFor(element)
	if !ok {
		return host{}, false
	}
	return parseNode(node)
}
