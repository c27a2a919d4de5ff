package httplimit

import (
	"fmt"
	"net/http"
	"net/netip"

	"github.com/httplimit/httplimit/internal/clientip"
	"github.com/httplimit/httplimit/internal/keyenc"
)

// ClientIP is the address of the client: an IPv4 address, or the /64 network of an IPv6 address, since one machine
// can use all of that. IPv4-mapped addresses are IPv4.
//
// Without arguments it is the socket peer, http.Request.RemoteAddr, and no header can change that. That holds only if
// nothing in front of the limiter overwrites RemoteAddr: chi's middleware.RealIP, gorilla's ProxyHeaders and the like
// write into it what a header says, and every client then chooses its own address, or that of somebody else. Take them
// away and tell ClientIP the proxies instead; where such a layer leaves out the port, which net/http never does, that
// is logged once.
//
// With the networks of the proxies in front of the service it also reads X-Forwarded-For, over all its lines from the
// right, for as long as the address reached is one of theirs: what a client writes into the header stands left of what
// the proxies append and is never reached. A network of 0 bits is refused; [ClientIPFrom] takes one with TrustAll.
//
// A peer without an address, such as that of a unix socket, has no key: NoKey decides.
func ClientIP(trusted ...netip.Prefix) Key {
	cfg := ClientIPConfig{TrustedProxies: trusted}
	if len(trusted) > 0 {
		cfg.Header = "X-Forwarded-For"
	}
	return ClientIPFrom(cfg)
}

// ClientIPFrom is [ClientIP] for setups that need more than a list of proxies. Its faults are reported by [New].
func ClientIPFrom(cfg ClientIPConfig) Key {
	resolver, faults := clientip.New(clientip.Config(cfg))
	return clientIP{resolver, faults}
}

// ClientAddr returns the address of the client that r comes from, as client finds it: a Key made by [ClientIP] or
// [ClientIPFrom]. It is the whole address, not masked to a bucket, without a zone, and IPv4 where it is IPv4-mapped or
// in ClientIPConfig.NAT64: for logs, and for what else needs an address that no client chooses.
//
// It returns an error if client is another kind of Key, or faulty; if its header names several addresses, see [Key];
// and one that wraps [ErrNoKey] if the peer has no address, as on a unix socket, and no trusted hop reported one. It is
// safe for concurrent use and costs no allocation.
func ClientAddr(client Key, r *http.Request) (netip.Addr, error) {
	k, ok := client.(clientIP)
	switch {
	case !ok:
		return netip.Addr{}, fmt.Errorf("httplimit: ClientAddr by a %T, want a Key made by ClientIP or ClientIPFrom", client)
	case len(k.faults) > 0:
		fault := k.faults[0]
		return netip.Addr{}, fmt.Errorf("httplimit: ClientAddr by a faulty key: %s: %s", fault.Field, fault.Reason)
	}
	header := k.resolver.Header()
	addr, origin := k.resolver.Client(r.RemoteAddr, r.Header.Values(header))
	switch {
	case origin == clientip.Ambiguous:
		return netip.Addr{}, fmt.Errorf("httplimit: %w", &ambiguousError{header: header})
	case !addr.IsValid():
		return netip.Addr{}, fmt.Errorf("httplimit: the peer has no IP address: %w", ErrNoKey)
	}
	return k.resolver.Unembed(addr), nil
}

// ClientIPConfig says how to find a client's address. The zero value is the socket peer.
//
// The address used is always one that was seen on our own socket or reported by a trusted hop. Where a trusted hop
// reports nothing usable (no header, an empty or unreadable element), the client is that hop: all clients behind it
// then share one bucket, none escapes, and a warning is logged once.
type ClientIPConfig struct {
	// Header is the field that the trusted proxies write: "X-Forwarded-For"; "Forwarded" (RFC 7239); or one
	// that holds a single address, such as "CF-Connecting-IP" or "X-Real-IP". Lines of such a one that differ
	// are ambiguous, see [Key]: a proxy has to set it, not to add to it. What a proxy copies into Forwarded of a
	// client, such as its Host, it has to quote, and escape the quotes in it. Empty means the socket peer only.
	Header string
	// TrustedProxies are the networks of the proxies. Bits beyond a network's length are ignored, IPv4-mapped
	// networks are IPv4. A Header that nobody is trusted to write, neither these nor by TrustedHops nor by
	// TrustUnixSocket, is a fault.
	TrustedProxies []netip.Prefix
	// TrustedHops counts the proxies where their addresses are not known: the client is the element that many
	// places from the right, whatever the others are. 0 means to go by address. If TrustedProxies are set too,
	// the peer has to be one of them; without them a client that reaches the service past its proxies chooses
	// its own address. For X-Forwarded-For and Forwarded.
	TrustedHops int
	// TrustUnixSocket makes a peer that has no IP address, such as a proxy on a unix socket, a trusted hop.
	TrustUnixSocket bool
	// TrustAll must be set for 0.0.0.0/0 or ::/0 to be accepted in TrustedProxies. With X-Forwarded-For and
	// Forwarded every client then chooses its own address; with a header of one address, every client that can
	// connect to the service itself does.
	TrustAll bool
	// IPv4Bits and IPv6Bits are how much of an address makes a bucket: 1 to 32 and 1 to 128; 0 means 32 and 64.
	IPv4Bits, IPv6Bits int
	// NAT64 are /96 networks whose addresses hold an IPv4 client in their last 32 bits (RFC 6052), which is
	// then the client. Nil means 64:ff9b::/96; empty means none.
	NAT64 []netip.Prefix
}

// clientIP finds addresses, or says what is wrong with its configuration.
type clientIP struct {
	resolver *clientip.Resolver
	faults   []clientip.Fault
}

func (clientIP) sealed() {}

func (k clientIP) compile(c *keyCompiler, field string) keyNode {
	for _, fault := range k.faults {
		c.fault(field+"."+fault.Field, "%s", fault.Reason)
	}
	if len(k.faults) > 0 {
		return nil
	}
	header := k.resolver.Header()
	return &addressKey{
		resolver: k.resolver, header: header, several: &ambiguousError{header: header}, warnings: c.warnings,
	}
}

// addressKey is the leaf of a ClientIP. What it finds is the bucket of the client's address: a text or a network.
type addressKey struct {
	resolver *clientip.Resolver
	header   string // that resolver reads; "" for none
	several  *ambiguousError
	warnings *keyWarnings
}

func (k *addressKey) find(r Request) (text string, isKey bool, err error) {
	text, network, err := k.bucket(r)
	if network.IsValid() {
		text = keyenc.Network(network)
	}
	return text, true, err
}

// plainPeer is a shortcut for the commonest key, the address of an IPv4 peer: it saves more than 5 % of a request.
func (k *addressKey) plainPeer(r Request) (text string, ok bool) {
	if text, ok = k.resolver.PlainPeer(r.RemoteAddr()); ok && k.warnings.sample.due() {
		k.checkSetup(r)
	}
	return text, ok
}

func (k *addressKey) collect(b *keyenc.Builder, r Request, composed bool) error {
	if text, ok := k.plainPeer(r); ok {
		b.Text(text, composed)
		return nil
	}
	text, network, err := k.bucket(r)
	addBucket(b, text, network, composed)
	return err
}

func (k *addressKey) fill(b *keyenc.Builder, parts []string, composed bool) ([]string, error) {
	text, network, err := k.resolver.ParseBucket(parts[0])
	addBucket(b, text, network, composed)
	return parts[1:], err
}

func (*addressKey) parts() int { return 1 }

func (k *addressKey) ambiguity(r Request) error {
	if k.header != "" {
		if _, origin := k.resolver.Client(r.RemoteAddr(), r.Values(k.header)); origin == clientip.Ambiguous {
			return k.several
		}
	}
	return nil
}

func addBucket(b *keyenc.Builder, text string, network netip.Prefix, composed bool) {
	if network.IsValid() {
		b.Network(network, composed)
	} else {
		b.Text(text, composed)
	}
}

// bucket finds the bucket, and warns of what its origin says about the setup.
func (k *addressKey) bucket(r Request) (text string, network netip.Prefix, err error) {
	var lines []string
	if k.header != "" {
		lines = r.Values(k.header)
	}
	if k.warnings.sample.due() {
		k.checkSetup(r)
	}
	text, network, origin := k.resolver.Bucket(r.RemoteAddr(), lines)
	switch {
	case origin == clientip.Ambiguous:
		return "", netip.Prefix{}, k.several
	case origin == clientip.Proxy:
		k.warnings.endedAtProxy.raise(k.header)
	case origin == clientip.Peer && len(lines) > 0:
		k.warnings.untrustedPeer.raise(k.header)
	}
	if text == "" && !network.IsValid() {
		if origin == clientip.Peer {
			k.warnings.peerWithoutAddress.raise("")
		}
		err = ErrNoKey
	}
	return text, network, err
}

// checkSetup warns of what a request shows of the layers in front of the limiter.
func (k *addressKey) checkSetup(r Request) {
	if rewritten(r) {
		k.warnings.peerRewritten.raise("")
	}
	if k.header != "" {
		return
	}
	for _, header := range []string{"X-Forwarded-For", "Forwarded"} {
		if len(r.Values(header)) > 0 {
			k.warnings.untrustedHeader.raise(header)
			return
		}
	}
}

// rewritten reports whether something in front of the limiter has overwritten http.Request.RemoteAddr with an address
// that it took from a header: net/http writes a port behind each.
func rewritten(r Request) bool {
	// Frameworks without net/http may have no port to tell.
	return ofHTTP(r) != nil && clientip.WithoutPort(r.RemoteAddr())
}
