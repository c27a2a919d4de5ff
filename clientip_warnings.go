package httplimit

import "sync/atomic"

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

// lookAgain has both lookouts look at one more request.
func (w *addressWarnings) lookAgain() {
	w.untrustedHeader.again()
	w.untrustedPeer.again()
}

// lookout warns of forwarding headers that nobody believes. Where there are none it would look for ever, so it looks
// at the first requests, and then at those that it is told to.
type lookout struct {
	warning
	looks atomic.Uint32
}

const (
	firstLooks = 1024
	// laterLooks is in how many milliseconds there is one whose requests are looked at: a proxy put in front later is
	// found within some hundred requests. To ask for a random number instead would be a twentieth of a request's time.
	laterLooks = 256
)

// done tells that nothing is looked at now. It is on the way of every request.
func (l *lookout) done() bool { return l.looks.Load() >= firstLooks }

func (l *lookout) again() {
	if l.done() {
		l.looks.Store(firstLooks - 1)
	}
}

func (l *lookout) look(r Request, headers ...string) {
	if l.done() || l.raised.Load() {
		return
	}
	l.looks.Add(1)
	for _, header := range headers {
		if header != "" && len(r.Values(header)) > 0 {
			l.raise()
			return
		}
	}
}
