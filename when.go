package httplimit

import (
	"net/http"
	"net/netip"

	"github.com/httplimit/httplimit/internal/clientip"
)

// NotFrom returns a condition for Rule.When: the rule applies to all clients but those in networks, such as an office
// or the addresses of a monitor.
//
// client finds their address and is made by [ClientIP] or [ClientIPFrom]. Behind a proxy it has to trust that proxy:
// by the proxy's own address all clients would be exempt, or none. Use the same value for the Key of a rule, so that
// [New] reports its faults: a client that is another kind of Key, or faulty, exempts no request. Nor is a request
// exempt that has no address. An invalid network exempts nobody.
func NotFrom(client Key, networks ...netip.Prefix) func(*http.Request) bool {
	addresses := newAddressList(client, networks)
	return func(r *http.Request) bool {
		inside, known := addresses.contain(r)
		return !known || !inside
	}
}

// OnlyFrom returns a condition for Rule.When, the counterpart of [NotFrom]: the rule applies to the clients in networks
// and to nobody else. With a Limit of 0 it is a deny list; with another one it holds some networks to less than the
// others. Without networks it applies to nobody.
//
// client finds their address as for [NotFrom]: behind a proxy it has to trust that proxy, and the Key of a rule should
// be the same value. As there, the rule applies wherever nobody can say that it does not, so that a client which hides
// its address does not get past it, and a mistake shows with the first request: to a request without an address, such
// as one over a unix socket (see ClientIPConfig.TrustUnixSocket); and to every request if client is another kind of Key
// or faulty, or if one of the networks is invalid, such as the zero netip.Prefix of an error that nobody has looked at.
// With a Limit of 0 these requests are refused.
func OnlyFrom(client Key, networks ...netip.Prefix) func(*http.Request) bool {
	addresses := newAddressList(client, networks)
	if addresses.skipped > 0 {
		return func(*http.Request) bool { return true }
	}
	return func(r *http.Request) bool {
		inside, known := addresses.contain(r)
		return !known || inside
	}
}

// addressList is the condition that NotFrom and OnlyFrom turn either way.
type addressList struct {
	resolver *clientip.Resolver // nil: client is no key of an address, or faulty
	networks clientip.Networks
	skipped  int // invalid networks
}

func newAddressList(client Key, networks []netip.Prefix) *addressList {
	l := &addressList{networks: make(clientip.Networks, 0, len(networks))}
	for _, network := range networks {
		network, reason := clientip.UnmapNetwork(network)
		if reason != "" {
			l.skipped++
			continue
		}
		l.networks = append(l.networks, network)
	}
	if k, isAddress := client.(clientIP); isAddress && len(k.faults) == 0 {
		l.resolver = k.resolver
	}
	return l
}

// contain reports whether the client's address is inside one of the networks, and whether that is known at all.
func (l *addressList) contain(r *http.Request) (inside, known bool) {
	if l.resolver == nil {
		return false, false
	}
	at, _ := l.resolver.Client(r.RemoteAddr, r.Header.Values(l.resolver.Header()))
	return l.networks.Contain(at) || l.networks.Contain(l.resolver.Unembed(at)), at.IsValid()
}
