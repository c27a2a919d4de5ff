package httplimit

import "sync/atomic"

// addressWarnings are the warnings about the setup around the service that the ClientIP keys of one rule give, each at
// most once. Safe for concurrent use.
type addressWarnings struct {
	untrustedHeader    sampledWarning
	untrustedPeer      warning
	peerWithoutAddress warning
	endedAtProxy       warning
}

func newAddressWarnings(warn func(code, message string)) *addressWarnings {
	once := func(code, message string) warning { return warning{code: code, message: message, warn: warn} }
	return &addressWarnings{
		untrustedHeader: sampledWarning{warning: once("forwarded-header-not-trusted",
			"requests carry X-Forwarded-For or Forwarded, and a ClientIP key trusts no proxy: if the service stands behind "+
				"one, all its clients share the proxy's bucket; give ClientIP the proxy's networks")},
		untrustedPeer: once("forwarded-header-from-untrusted-peer",
			"a peer that a ClientIP key does not trust sent the header that it reads: if that is a proxy of yours, its "+
				"network is missing from the trusted ones and all its clients share one bucket; if not, somebody passed "+
				"your proxies by"),
		peerWithoutAddress: once("peer-without-address",
			"the peer of a request has no IP address, so a ClientIP key cannot tell its clients apart: if a proxy connects "+
				"by a unix socket, set ClientIPConfig.Header and TrustUnixSocket"),
		endedAtProxy: once("client-address-is-a-proxy",
			"a trusted proxy reported no client address, so the proxy itself was counted as the client: unless it was a "+
				"health check of its own, see that every trusted proxy writes the header that ClientIP reads, and that no "+
				"network of clients is trusted"),
	}
}

// warning is logged at most once.
type warning struct {
	code, message string
	warn          func(code, message string)
	raised        atomic.Bool
}

// raise costs one load once the warning was logged.
func (w *warning) raise() {
	if !w.raised.Load() && !w.raised.Swap(true) {
		w.warn(w.code, w.message)
	}
}

// sampledWarning is a warning whose cause is rare or never there. The first requests are checked for it, and then a
// sample of them, which bounds the cost on the hot path.
type sampledWarning struct {
	warning
	checked atomic.Uint32
}

const (
	checkFirst  = 1024 // the first requests, all of which are checked
	sampleEvery = 256  // one in so many of the later ones: a proxy put in front later is found within a few hundred
)

// due reports whether a request is to be checked. Mostly it costs one load: a counter of all requests would be a cache
// line that all threads contend for.
func (w *sampledWarning) due() bool {
	if w.checked.Load() >= checkFirst || w.raised.Load() {
		return false
	}
	w.checked.Add(1)
	return true
}

// resample makes the next request due.
func (w *sampledWarning) resample() {
	if w.checked.Load() >= checkFirst {
		w.checked.Store(checkFirst - 1)
	}
}

// resample has one more request of each rule checked for what it warns of.
func (s *settings) resample() {
	for i := range s.rules {
		s.rules[i].keys.warnings.untrustedHeader.resample()
	}
}
