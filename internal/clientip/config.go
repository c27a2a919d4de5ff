package clientip

import (
	"fmt"
	"net/netip"
	"net/textproto"
	"strings"
)

// Config says how to find a client's address. Its fields are those of httplimit.ClientIPConfig, where they are
// described.
type Config struct {
	Header             string
	TrustedProxies     []netip.Prefix
	TrustedHops        int
	TrustUnixSocket    bool
	TrustAll           bool
	IPv4Bits, IPv6Bits int
	NAT64              []netip.Prefix
}

// Fault is what is wrong with a field of a [Config], such as "TrustedProxies[1]", and what is wanted there.
type Fault struct{ Field, Reason string }

const (
	xForwardedFor = "X-Forwarded-For"
	forwarded     = "Forwarded"

	defaultIPv4Bits = 32
	defaultIPv6Bits = 64 // one LAN (RFC 4291, section 2.5.1): no site has less
	nat64Bits       = 96
	wellKnownNAT64  = "64:ff9b::/96" // RFC 6052, section 2.1
)

// New returns a Resolver, or all faults of cfg.
func New(cfg Config) (*Resolver, []Fault) {
	var c checker
	c.trust(cfg)
	r := &Resolver{
		header:    textproto.CanonicalMIMEHeaderKey(cfg.Header),
		proxies:   c.networks("TrustedProxies", cfg.TrustedProxies, cfg.TrustAll),
		hops:      cfg.TrustedHops,
		trustUnix: cfg.TrustUnixSocket,
		ipv4Bits:  c.bits("IPv4Bits", cfg.IPv4Bits, defaultIPv4Bits, 32),
		ipv6Bits:  c.bits("IPv6Bits", cfg.IPv6Bits, defaultIPv6Bits, 128),
		nat64:     c.nat64("NAT64", cfg.NAT64),
	}
	if len(c.faults) > 0 {
		return nil, c.faults
	}
	r.peerOnly = r.ipv4Bits == 32 && !r.TrustsProxies()
	return r, nil
}

// checker collects the faults of a [Config] and fills in its defaults.
type checker struct{ faults []Fault }

func (c *checker) fault(field, format string, args ...any) {
	c.faults = append(c.faults, Fault{Field: field, Reason: fmt.Sprintf(format, args...)})
}

func (c *checker) trust(cfg Config) {
	if cfg.TrustedHops < 0 {
		c.fault("TrustedHops", "it is %d, want the number of proxies, or 0 to go by address", cfg.TrustedHops)
	}
	list := strings.EqualFold(cfg.Header, xForwardedFor) || strings.EqualFold(cfg.Header, forwarded)
	switch {
	case cfg.Header == "":
		if len(cfg.TrustedProxies) > 0 || cfg.TrustedHops != 0 || cfg.TrustUnixSocket {
			c.fault("Header", "it is empty though something is trusted, "+
				`want the field that the proxies write, such as "X-Forwarded-For"`)
		}
	case !IsToken(cfg.Header):
		c.fault("Header", "%q is not the name of a header field", cfg.Header)
	case cfg.TrustedHops > 0 && !list:
		c.fault("TrustedHops", "%s holds one address and no hops to count, want TrustedProxies", cfg.Header)
	case cfg.TrustedHops == 0 && len(cfg.TrustedProxies) == 0 && !cfg.TrustUnixSocket:
		others := "TrustUnixSocket"
		if list {
			others = "TrustedHops, TrustUnixSocket"
		}
		c.fault("TrustedProxies", "it is empty, so that nobody is believed to write %s, want the networks of the proxies "+
			"that do, or %s; or no Header, for the socket peer", cfg.Header, others)
	}
}

func (c *checker) networks(field string, given []netip.Prefix, trustAll bool) Networks {
	networks := make(Networks, len(given))
	for i, network := range given {
		network, reason := UnmapNetwork(network)
		if reason == "" && network.Bits() == 0 && !trustAll {
			reason = fmt.Sprintf("%v trusts everybody to write any address, "+
				"want the networks of your proxies, or ClientIPConfig.TrustAll", network)
		}
		if reason != "" {
			c.fault(fmt.Sprintf("%s[%d]", field, i), "%s", reason)
		}
		networks[i] = network
	}
	return networks
}

// UnmapNetwork returns p in the form that addresses are compared in, or the reason why it has none. An IPv4-mapped
// network becomes the IPv4 network that it is: addresses are unmapped, and a mapped network would never match.
func UnmapNetwork(p netip.Prefix) (network netip.Prefix, reason string) {
	const mappedBits = 96
	switch {
	case !p.IsValid():
		return p, "it is no valid network, want one such as 10.0.0.0/8"
	case !p.Addr().Is4In6():
		return p, ""
	case p.Bits() < mappedBits:
		return p, fmt.Sprintf("%v is more than the IPv4-mapped addresses, want IPv4 networks as such", p)
	}
	return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-mappedBits), ""
}

func (c *checker) bits(field string, bits, standard, most int) int {
	if bits == 0 {
		return standard
	}
	if bits < 0 || bits > most {
		c.fault(field, "it is %d, want 1 to %d, or 0 for %d", bits, most, standard)
	}
	return bits
}

func (c *checker) nat64(field string, given []netip.Prefix) Networks {
	if given == nil {
		return Networks{netip.MustParsePrefix(wellKnownNAT64)}
	}
	networks := make(Networks, len(given))
	for i, p := range given {
		if !p.IsValid() || p.Bits() != nat64Bits || !p.Addr().Is6() || p.Addr().Is4In6() {
			c.fault(fmt.Sprintf("%s[%d]", field, i), "%v is no IPv6 network of 96 bits", p)
		}
		networks[i] = p
	}
	return networks
}
