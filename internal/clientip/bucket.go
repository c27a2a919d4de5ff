package clientip

import (
	"fmt"
	"net/netip"
)

// Bucket returns what the clients at and around the address of [Resolver.Client] share: one IPv4 address, as the text
// that stands in the request, or else a network, which may be of one address. Without an address it is "" and invalid.
func (r *Resolver) Bucket(remoteAddr string, headers Headers) (text string, network netip.Prefix, origin Origin) {
	addr, text, origin := r.client(remoteAddr, headers)
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

func (r *Resolver) bucket(addr netip.Addr, text string) (string, netip.Prefix) {
	if addr.Is6() && r.nat64.Contain(addr) {
		raw := addr.As16()
		addr = netip.AddrFrom4([4]byte(raw[nat64Bits/8:]))
	}
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
