// Package clientip finds the address of a client: that of the socket peer or, behind trusted proxies, the one that
// they report in a header. The peer, the lines of the header and a [Config] go in, an address comes out. It knows
// nothing of net/http, keeps no state between requests and logs nothing.
//
// The address is always one that was seen on our own socket or reported by a trusted hop: elements of the header are
// read from the right, where the nearest proxy writes, and what a client has written itself is never reached.
package clientip

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Resolver finds the addresses of clients as a [Config] says. Immutable and safe for concurrent use.
type Resolver struct {
	header             string // canonical; "" for the socket peer
	proxies            Networks
	hops               int
	trustUnix          bool
	ipv4Bits, ipv6Bits int
	nat64              Networks
	peerOnly           bool // the peer is the client, and an IPv4 address its own bucket
}

// Origin says where an address comes from.
type Origin uint8

const (
	Peer      Origin = iota // the socket peer, which is not trusted to report a client
	Reported                // a trusted hop reported it
	Proxy                   // it is that of a trusted hop, which reported no usable address
	Ambiguous               // there is none: a trusted hop sent lines of different values where one address belongs
)

// Header returns the name of the field whose lines the Resolver reads, in canonical form; "" if it reads none.
func (r *Resolver) Header() string {
	if !r.TrustsProxies() {
		return ""
	}
	return r.header
}

// Client returns the address of the client whose request came from remoteAddr, which is written as in
// http.Request.RemoteAddr. lines are all lines of [Resolver.Header], in order. IPv4-mapped addresses are IPv4, and
// there is no zone. The address is invalid if there is none: the peer has no IP address, and no trusted hop reported
// one; or the Origin is Ambiguous.
func (r *Resolver) Client(remoteAddr string, lines []string) (netip.Addr, Origin) {
	addr, _, origin := r.client(remoteAddr, lines)
	return addr, origin
}

// client is Client with the text of the address as parseAddress returns it.
func (r *Resolver) client(remoteAddr string, lines []string) (addr netip.Addr, text string, origin Origin) {
	peer, peerText := parsePeer(remoteAddr)
	if !r.trustsPeer(peer) {
		return peer, peerText, Peer
	}
	switch {
	case r.hops > 0:
		addr, text = r.count(lines)
	case r.header == xForwardedFor, r.header == forwarded:
		return r.walk(lines, peer, peerText)
	case Differ(lines):
		return netip.Addr{}, "", Ambiguous
	case len(lines) > 0:
		addr, text = parseElement(lines[0])
	}
	if !addr.IsValid() {
		return peer, peerText, Proxy
	}
	return addr, text, Reported
}

// Differ reports whether lines of a header field that holds one value have different ones, so that nobody can tell
// which of them another reader of the request takes.
func Differ(lines []string) bool {
	for _, line := range lines[min(1, len(lines)):] {
		if line != lines[0] {
			return true
		}
	}
	return false
}

// TrustsProxies reports whether there are peers whose header is believed.
func (r *Resolver) TrustsProxies() bool {
	return len(r.proxies) > 0 || r.hops > 0 || r.trustUnix
}

func (r *Resolver) trustsPeer(peer netip.Addr) bool {
	if !peer.IsValid() {
		return r.trustUnix
	}
	return r.proxies.Contain(peer) || r.hops > 0 && len(r.proxies) == 0
}

// count returns the element that lies as many places from the right as there are proxies.
func (r *Resolver) count(lines []string) (netip.Addr, string) {
	elements := r.elements(lines)
	for range r.hops - 1 {
		if _, more := elements.next(); !more {
			return netip.Addr{}, ""
		}
	}
	return elements.nextAddress()
}

// walk goes from the peer to the left for as long as it stands on a trusted hop and that hop names an address.
func (r *Resolver) walk(lines []string, peer netip.Addr, peerText string) (netip.Addr, string, Origin) {
	elements := r.elements(lines)
	at, text := peer, peerText
	for !at.IsValid() || r.proxies.Contain(at) {
		reported, reportedText := elements.nextAddress()
		if !reported.IsValid() {
			return at, text, Proxy
		}
		at, text = reported, reportedText
	}
	return at, text, Reported
}

func (r *Resolver) elements(lines []string) elements {
	return elements{lines: lines, forwarded: r.header == forwarded}
}

// Bucket returns what the clients at and around the address of [Resolver.Client] share: one IPv4 address, as the text
// that stands in the request, or else a network, which may be of one address. Without an address it is "" and invalid.
func (r *Resolver) Bucket(remoteAddr string, lines []string) (text string, network netip.Prefix, origin Origin) {
	addr, text, origin := r.client(remoteAddr, lines)
	text, network = r.bucket(addr, text)
	return text, network, origin
}

// PlainPeer is a shortcut for the commonest bucket: that of a peer with an IPv4 address, where no header is read. Where
// ok is false, [Resolver.Bucket] has to decide.
func (r *Resolver) PlainPeer(remoteAddr string) (text string, ok bool) {
	if !r.peerOnly {
		return "", false
	}
	return leadingIPv4(remoteAddr)
}

// ParseBucket returns the bucket that s names: an address stands for its bucket, and so does every network in it.
func (r *Resolver) ParseBucket(s string) (text string, network netip.Prefix, err error) {
	if addr, text := parseAddress(s); addr.IsValid() {
		text, network = r.bucket(addr, text)
		return text, network, nil
	}
	if network, err = netip.ParsePrefix(s); err == nil {
		return "", network.Masked(), nil
	}
	return "", network, fmt.Errorf("%q is no address and no bucket of addresses, "+
		"want such as 192.0.2.7 or 2001:db8:1:2::/64", s)
}

// Unembed returns the IPv4 address that stands in an address of the networks of NAT64, and every other one as it is.
func (r *Resolver) Unembed(addr netip.Addr) netip.Addr {
	if addr.Is6() && r.nat64.Contain(addr) {
		raw := addr.As16()
		return netip.AddrFrom4([4]byte(raw[nat64Bits/8:]))
	}
	return addr
}

func (r *Resolver) bucket(addr netip.Addr, text string) (string, netip.Prefix) {
	addr = r.Unembed(addr)
	bits := r.ipv6Bits
	if addr.Is4() {
		bits = r.ipv4Bits
		if text != "" && bits == 32 {
			return text, netip.Prefix{}
		}
	}
	network, _ := addr.Prefix(bits) // New has checked the bits; without an address the network is invalid
	return "", network
}

// elements hands out the elements of a header from the right, over all its lines.
type elements struct {
	lines     []string // not begun
	line      string   // what is left of the line begun
	begun     bool
	forwarded bool // Forwarded, else X-Forwarded-For
}

// next returns the next element to the left. more is false if there is none.
func (e *elements) next() (element string, more bool) {
	if !e.begun {
		last := len(e.lines) - 1
		if last < 0 {
			return "", false
		}
		e.line, e.lines = e.lines[last], e.lines[:last]
	}
	comma := strings.LastIndexByte(e.line, ',')
	if e.forwarded {
		comma = lastUnquotedComma(e.line)
	}
	e.begun = comma >= 0
	element = e.line[comma+1:]
	e.line = e.line[:max(comma, 0)]
	return element, true
}

// nextAddress returns the address of the next element to the left, an invalid one if there is none.
func (e *elements) nextAddress() (netip.Addr, string) {
	element, _ := e.next() // without another one it is "", which is no address
	if !e.forwarded {
		return parseElement(element)
	}
	node, ok := forwardedFor(element)
	if !ok {
		return netip.Addr{}, ""
	}
	return parseNode(node)
}

// Networks are a list of networks, as they stand after [UnmapNetwork].
type Networks []netip.Prefix

// Contain reports whether addr lies in one of the networks.
func (n Networks) Contain(addr netip.Addr) bool {
	for _, network := range n {
		if network.Contains(addr) {
			return true
		}
	}
	return false
}

// ByNetworks reports whether the networks of proxies in front are all that the Config says: it reads X-Forwarded-For by
// them, or nothing, and makes the usual buckets.
func (r *Resolver) ByNetworks() bool {
	return (r.header == xForwardedFor || !r.TrustsProxies()) && r.hops == 0 && !r.trustUnix &&
		r.ipv4Bits == defaultIPv4Bits && r.ipv6Bits == defaultIPv6Bits &&
		len(r.nat64) == 1 && r.nat64[0] == netip.MustParsePrefix(wellKnownNAT64) &&
		!slices.ContainsFunc(r.proxies, func(p netip.Prefix) bool { return p.Bits() == 0 }) // which wants TrustAll
}

// Proxies returns the networks of the proxies, masked.
func (r *Resolver) Proxies() []netip.Prefix { return slices.Clone(r.proxies) }
