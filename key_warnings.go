package httplimit

import (
	"strings"
	"sync/atomic"
)

// keyWarnings are the warnings about the setup around the service that the keys of one rule give, each at most once.
// Safe for concurrent use.
type keyWarnings struct {
	sample             sample // of the requests that are checked for the first two
	untrustedHeader    warning
	peerRewritten      warning
	untrustedPeer      warning
	peerWithoutAddress warning
	endedAtProxy       warning
	routeUnknown       warning
	routeUnfinished    warning
	preflightRefused   warning
}

func newKeyWarnings(warn func(code, message string)) *keyWarnings {
	once := func(code, message string) warning { return warning{code: code, message: message, warn: warn} }
	return &keyWarnings{
		untrustedHeader: once("forwarded-header-not-trusted",
			"requests carry {}, and a ClientIP key trusts no proxy: if the service stands behind one, all its clients "+
				"share the proxy's bucket; give ClientIP the proxy's networks"),
		peerRewritten: once("remote-address-rewritten",
			"the RemoteAddr of a request has no port, which net/http always writes, so something in front of the limiter "+
				"has written it: if that takes it from a header, as chi's middleware.RealIP and gorilla's ProxyHeaders do, "+
				"every client chooses what ClientIP counts; take it away, and give ClientIP the networks of the proxies"),
		untrustedPeer: once("forwarded-header-from-untrusted-peer",
			"a peer that a ClientIP key does not trust sent {}, which it reads: if that is a proxy of yours, its network "+
				"is missing from the trusted ones and all its clients share one bucket; if not, somebody passed your "+
				"proxies by"),
		peerWithoutAddress: once("peer-without-address",
			"the peer of a request has no IP address, so a ClientIP key cannot tell its clients apart: if a proxy connects "+
				"by a unix socket, set ClientIPConfig.Header and TrustUnixSocket"),
		endedAtProxy: once("client-address-is-a-proxy",
			"a trusted proxy reported no client address in {}, so the proxy itself was counted as the client: unless it "+
				"was a health check of its own, see that every trusted proxy writes {}, which ClientIP reads, and that no "+
				"network of clients is trusted"),
		routeUnknown: once("route-not-known",
			"a Route key saw a request without a pattern, before any that has one: unless no route matches it, the limiter "+
				"stands where requests have not been routed yet; around an http.ServeMux take RouteOf, in chi put the "+
				"limiter into With or Group instead of Use on the router"),
		routeUnfinished: once("route-ends-at-a-subrouter",
			"a Route key saw the pattern {}: if a subrouter of chi is mounted there, all its routes share one bucket; put "+
				"the limiter into With or Group inside of it instead of Use"),
		preflightRefused: once("preflight-refused",
			"the rule {} refused a CORS preflight, which browsers show as a CORS error: put the CORS layer outside of the "+
				"limiter, or set NoKey so that it tells clients apart"),
	}
}

// warning is logged at most once.
type warning struct {
	code, message string // {} stands for what the warning is about
	warn          func(code, message string)
	raised        atomic.Bool
}

// raise costs one load once the warning was logged.
func (w *warning) raise(about string) {
	if !w.raised.Load() && !w.raised.Swap(true) {
		w.warn(w.code, strings.ReplaceAll(w.message, "{}", about))
	}
}

// sample chooses the requests that are checked for what is rare or never there: the first ones, and then a few, which
// bounds the cost on the hot path.
type sample struct{ checked atomic.Uint32 }

const (
	checkFirst  = 1024 // the first requests, all of which are checked
	sampleEvery = 256  // one in so many of the later ones: a proxy put in front later is found within a few hundred
)

// due reports whether a request is to be checked. Mostly it costs one load: a counter of all requests would be a cache
// line that all threads contend for.
func (s *sample) due() bool {
	if s.checked.Load() >= checkFirst {
		return false
	}
	s.checked.Add(1)
	return true
}

// resample makes the next request due.
func (s *sample) resample() {
	if s.checked.Load() >= checkFirst {
		s.checked.Store(checkFirst - 1)
	}
}

// resample has one more request of each rule checked for what it warns of.
func (s *settings) resample() {
	for i := range s.rules {
		s.rules[i].keys.warnings.sample.resample()
	}
}
