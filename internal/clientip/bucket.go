package clientip

import (
	"fmt"
	"net/netip"
)

// Bucket is what the clients at and around an address share: one IPv4 address, or a network.
type Bucket struct {
	Text    string       // one IPv4 address as it stands in the request, in which form it needs no new string; else ""
	Network netip.Prefix // if Text is ""
}

// Bucket returns the bucket of a valid address.
func (r *Resolver) Bucket(a Address) Bucket {
	addr := a.addr
	if addr.Is6() && r.nat64.Contains(a) {
		raw := addr.As16()
		addr = netip.AddrFrom4([4]byte(raw[nat64Bits/8:]))
	}
	bits := r.ipv6Bits
	if addr.Is4() {
		bits = r.ipv4Bits
		if a.text != "" && bits == 32 {
			return Bucket{Text: a.text}
		}
	}
	network, _ := addr.Prefix(bits) // New has checked that the bits are in range
	return Bucket{Network: network}
}

// ParseBucket returns the bucket that text names: an address stands for its bucket, and so does every network in it.
func (r *Resolver) ParseBucket(text string) (Bucket, error) {
	if a := parseAddress(text); a.IsValid() {
		return r.Bucket(a), nil
	}
	if network, err := netip.ParsePrefix(text); err == nil {
		return Bucket{Network: network.Masked()}, nil
	}
	return Bucket{}, fmt.Errorf("%q is no address and no bucket of addresses, "+
		"want such as 192.0.2.7 or 2001:db8:1:2::/64", text)
}
