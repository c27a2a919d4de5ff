package httplimit

import (
	"net/http"
	"net/netip"
)

// NotFrom returns a condition for Rule.When: the rule applies to everybody but the clients in networks, such as an
// office or the addresses of a monitor.
//
// client finds their address and is made by [ClientIP] or [ClientIPFrom]: behind a proxy that of the peer would exempt
// everybody. Use the same value for the Key of a rule, so that [New] reports what is wrong with it: a client that is
// anything else, or faulty, exempts nobody. Without an address a request is not exempt.
func NotFrom(client Key, networks ...netip.Prefix) func(*http.Request) bool {
	c := keyCompiler{warnings: newAddressWarnings(func(string, string) {})}
	cfg, isAddress := client.(clientIP)
	exempt := make([]netip.Prefix, 0, len(networks))
	for _, network := range networks {
		if network, reason := unmapNetwork(network); reason == "" {
			exempt = append(exempt, network)
		}
	}
	resolver, _ := cfg.prepare(&c, "client").(*clientResolver)
	if !isAddress || len(c.faults) > 0 {
		return func(*http.Request) bool { return true }
	}
	return func(r *http.Request) bool {
		at, ok := resolver.client(&httpRequest{r: r})
		if !ok {
			return true
		}
		for _, network := range exempt {
			if network.Contains(at.addr) {
				return false
			}
		}
		return true
	}
}
