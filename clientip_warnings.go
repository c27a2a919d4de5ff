package httplimit

import (
	"math/rand/v2"
	"sync/atomic"
)

// addressWarnings are what the ClientIP keys of one rule have to say about the setup around it, each at most once.
type addressWarnings struct {
	untrustedHeader    lookout
	untrustedPeer      lookout
	peerWithoutAddress warning
	endedAtProxy       warning
}

func newAddressWarnings(warn func(code, message string)) *addressWarnings {
	return &addressWarnings{
		untrustedHeader: lookout{warning: warning{
			code: "forwarded-header-not-trusted",
			message: "requests carry X-Forwarded-For or Forwarded, and a ClientIP key trusts no proxy: " +
				"if the service stands behind one, all its clients share the proxy's bucket; give ClientIP the proxy's networks",
			warn: warn,
		}},
		untrustedPeer: lookout{warning: warning{
			code: "forwarded-header-from-untrusted-peer",
			message: "a peer that a ClientIP key does not trust sent the header that it reads: if that is a proxy of yours, " +
				"its network is missing from the trusted ones and all its clients share one bucket; if not, somebody passed your proxies by",
			warn: warn,
		}},
		peerWithoutAddress: warning{
			code: "peer-without-address",
			message: "the peer of a request has no IP address, so a ClientIP key cannot tell its clients apart: " +
				"if a proxy connects by a unix socket, set ClientIPConfig.Header and TrustUnixSocket",
			warn: warn,
		},
		endedAtProxy: warning{
			code: "client-address-is-a-proxy",
			message: "a trusted proxy reported no client address, so the proxy itself was counted as the client: " +
				"unless it was a health check of its own, see that every trusted proxy writes the header that ClientIP reads, and that no network of clients is trusted",
			warn: warn,
		},
	}
}

// warning is said once.
type warning struct {
	code, message string
	warn          func(code, message string)
	raised        atomic.Bool
}

// raise costs one load once the warning has been said.
func (w *warning) raise() {
	if !w.raised.Load() && !w.raised.Swap(true) {
		w.warn(w.code, w.message)
	}
}

// lookout warns of forwarding headers that nobody believes. Where there are none it would look for ever, so it looks
// at the first requests and then at a few: a proxy put in front later is found within some hundred requests.
type lookout struct {
	warning
	looks atomic.Uint32
}

const (
	firstLooks = 1024
	laterLooks = 256 // one request in so many
)

func (l *lookout) look(r Request, headers ...string) {
	if l.raised.Load() {
		return
	}
	if l.looks.Load() >= firstLooks {
		if rand.Uint32()%laterLooks != 0 {
			return
		}
	} else {
		l.looks.Add(1)
	}
	for _, header := range headers {
		if header != "" && len(r.Values(header)) > 0 {
			l.raise()
			return
		}
	}
}
