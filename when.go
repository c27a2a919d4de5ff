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
// exempt that has no address.
func NotFrom(client Key, networks ...netip.Prefix) func(*http.Request) bool {
	exempt := make(clientip.Networks, 0, len(networks))
	for _, network := range networks {
		if network, reason := clientip.UnmapNetwork(network); reason == "" {
			exempt = append(exempt, network)
		}
	}
	cfg, isAddress := client.(clientIP)
	resolver, faults := clientip.New(clientip.Config(cfg))
	if !isAddress || len(faults) > 0 {
		return func(*http.Request) bool { return true }
	}
	return func(r *http.Request) bool {
		at, _ := resolver.Client(r.RemoteAddr, r.Header.Values(resolver.Header()))
		return !exempt.Contain(at)
	}
}
