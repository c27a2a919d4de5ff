package httplimit

import (
	"fmt"
	"net/netip"
	"net/textproto"
	"strings"
)

const (
	defaultIPv4Bits = 32
	defaultIPv6Bits = 64 // one LAN (RFC 4291, section 2.5.1): no site has less
	nat64Bits       = 96
	wellKnownNAT64  = "64:ff9b::/96" // RFC 6052, section 2.1
)

// prepare makes the configuration ready: the defaults filled in, networks in the form that addresses are compared in.
func (cfg clientIP) prepare(c *keyCompiler, field string) finder {
	cfg.checkTrust(c, field)
	resolver := &clientResolver{
		header:    textproto.CanonicalMIMEHeaderKey(cfg.Header),
		proxies:   trustedNetworks(c, field+".TrustedProxies", cfg.TrustedProxies, cfg.TrustAll),
		hops:      cfg.TrustedHops,
		trustUnix: cfg.TrustUnixSocket,
		ipv4Bits:  bucketBits(c, field+".IPv4Bits", cfg.IPv4Bits, defaultIPv4Bits, 32),
		ipv6Bits:  bucketBits(c, field+".IPv6Bits", cfg.IPv6Bits, defaultIPv6Bits, 128),
		nat64:     nat64Networks(c, field+".NAT64", cfg.NAT64),
		warnings:  c.warnings,
	}
	resolver.peerOnly = resolver.ipv4Bits == 32 && !resolver.trustsAnything()
	return resolver
}

func (cfg clientIP) checkTrust(c *keyCompiler, field string) {
	if cfg.TrustedHops < 0 {
		c.fault(field+".TrustedHops", "it is %d, want the number of proxies, or 0 to go by address", cfg.TrustedHops)
	}
	switch {
	case cfg.Header == "":
		if len(cfg.TrustedProxies) > 0 || cfg.TrustedHops != 0 || cfg.TrustUnixSocket {
			c.fault(field+".Header", `it is empty though something is trusted, want the field that the proxies write, such as "X-Forwarded-For"`)
		}
	case !isToken(cfg.Header):
		c.fault(field+".Header", "%q is not the name of a header field", cfg.Header)
	case cfg.TrustedHops > 0 && !strings.EqualFold(cfg.Header, headerXFF) && !strings.EqualFold(cfg.Header, headerForwarded):
		c.fault(field+".TrustedHops", "%s holds one address and no hops to count, want TrustedProxies", cfg.Header)
	}
}

func trustedNetworks(c *keyCompiler, field string, given []netip.Prefix, trustAll bool) []netip.Prefix {
	networks := make([]netip.Prefix, len(given))
	for i, network := range given {
		network, reason := unmapNetwork(network)
		if reason == "" && network.Bits() == 0 && !trustAll {
			reason = fmt.Sprintf("%v trusts everybody to write any address, want the networks of your proxies, or ClientIPConfig.TrustAll", network)
		}
		if reason != "" {
			c.fault(fmt.Sprintf("%s[%d]", field, i), "%s", reason)
		}
		networks[i] = network
	}
	return networks
}

// unmapNetwork turns an IPv4-mapped network into the IPv4 network that it is: addresses are unmapped before they are
// compared, and a mapped network would silently never match.
func unmapNetwork(p netip.Prefix) (network netip.Prefix, reason string) {
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

func bucketBits(c *keyCompiler, field string, bits, standard, most int) int {
	if bits == 0 {
		return standard
	}
	if bits < 0 || bits > most {
		c.fault(field, "it is %d, want 1 to %d, or 0 for %d", bits, most, standard)
	}
	return bits
}

func nat64Networks(c *keyCompiler, field string, given []netip.Prefix) []netip.Prefix {
	if given == nil {
		return []netip.Prefix{netip.MustParsePrefix(wellKnownNAT64)}
	}
	networks := make([]netip.Prefix, len(given))
	for i, p := range given {
		if !p.IsValid() || p.Bits() != nat64Bits || !p.Addr().Is6() || p.Addr().Is4In6() {
			c.fault(fmt.Sprintf("%s[%d]", field, i), "%v is no IPv6 network of 96 bits", p)
		}
		networks[i] = p
	}
	return networks
}

// isToken tells whether s is a token of RFC 9110, section 5.6.2: the name of a field, or of a cookie.
func isToken(s string) bool {
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
