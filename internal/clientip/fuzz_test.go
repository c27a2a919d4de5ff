package clientip

import (
	"math/rand/v2"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

var fuzzProxies = []netip.Prefix{
	netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("2001:db8:ffff::/48"),
}

var fuzzHeaders = []string{"X-Forwarded-For", "Forwarded", "X-Real-Ip"}

// resolver is that of one setup; the oracle is its twin.
func resolver(t testing.TB, o oracle) *Resolver {
	t.Helper()
	r, faults := New(Config{Header: o.header, TrustedProxies: o.trusted, TrustedHops: o.hops, TrustUnixSocket: o.unix})
	if len(faults) > 0 {
		t.Fatalf("the faults are %v, want none", faults)
	}
	return r
}

// FuzzClientIP compares the walk with the oracle on any peer and any header, whose lines are parted by newlines.
func FuzzClientIP(f *testing.F) {
	for _, value := range []string{
		"6.6.6.6, 198.51.100.7", "6.6.6.6\n198.51.100.7, 10.0.0.9", "6.6.6.6, , 10.0.0.9",
		"[2001:db8:1::7]:52345, 10.0.0.9:80",
		"::ffff:10.0.0.9%eth0, 64:ff9b::c000:20a", "6.6.6.6, 198.51.100.7:99999", "1.2.3.4:, [::1]:x, [::1",
		"010.0.0.9,10.9", "", ",",
		`for=6.6.6.6, for="[2001:db8:1::7]:_p";by=x, for=10.0.0.9`, `for=198.51.100.7;host="x, for=6.6.6.6;a=b"`,
		`for=198.51.100.7;ext="a\", for=6.6.6.6;b=\""`, `for="6.6.6.6, for=198.51.100.7`, "for=\"6.6.6.6\nfor=198.51.100.7",
		`for="\1\9\8.51.100.7" ; proto=http`, `for=6.6.6.6;for=7.7.7.7`, `FOR=_hidden, for=unknown, ;;, for=`,
		`a=""x, for="", for=[::1`, `x"y`, `="a"`, `a="\"`,
		"198.51.100.7, fe80::1%, 10.0.0.9", `for="198.51.100.7"x`, `for="198.51.100.7"x=y`,
		`for=198.51.100.7;a"b", for=10.0.0.9`,
	} {
		for _, remote := range []string{"10.0.0.2:51000", "@", "203.0.113.66:1", "[2001:db8:ffff::2]:1"} {
			f.Add(remote, value, uint8(0), uint8(0), true)
		}
		f.Add("10.0.0.2:1", value, uint8(1), uint8(0), false)
		f.Add("10.0.0.2:1", value, uint8(2), uint8(0), false)
		f.Add("10.0.0.2:1", value, uint8(1), uint8(2), false)
		f.Add("10.0.0.2:1", value, uint8(0), uint8(2), false)
	}
	f.Add("0.0.0.0:0", "198.51.100.7", uint8(0), uint8(0), true)
	f.Add("224.0.0.1:1", "198.51.100.7", uint8(0), uint8(1), true)
	f.Fuzz(func(t *testing.T, remote, value string, header, hops uint8, unix bool) {
		o := oracle{header: fuzzHeaders[header%3], trusted: fuzzProxies, hops: int(hops % 4), unix: unix}
		if header%3 == 2 {
			o.hops = 0
		}
		if hops >= 128 {
			o.trusted = nil
		}
		if !o.unix && o.hops == 0 && len(o.trusted) == 0 {
			t.Skip("nobody is trusted")
		}
		lines := strings.Split(value, "\n")
		want := bucket(o.client(remote, lines))
		if got := bucketOf(resolver(t, o), remote, http.Header{o.header: lines}); got != want {
			t.Errorf("the bucket of %q with %s %q, %d hops, unix %v is %s, want %s", remote, o.header, lines, o.hops, unix,
				got, want)
		}
	})
}

// FuzzPeer compares the socket peer, and the shortcut for IPv4 in it, with the oracle.
func FuzzPeer(f *testing.F) {
	for _, remote := range []string{
		"192.0.2.7:80", "192.0.2.7", "192.0.2.7:", "192.0.2.07:1", "192.0.2.256:1", "0.0.0.0:0", "0.0.0.1:1",
		"224.0.0.1:1", "239.255.255.255:1",
		"240.0.0.1:1", "1.2.3:4", "1.2.3.4.5:6", "1..3.4:5", "18446744073709551617.2.3.4:1", "[::1]:9",
		"[::ffff:192.0.2.7]:1", "[fe80::1%eth0]:1", "@", "", "0.0.0.1::",
	} {
		f.Add(remote)
	}
	peer := resolver(f, oracle{})
	f.Fuzz(func(t *testing.T, remote string) {
		want := bucket(oracle{}.client(remote, nil))
		if got := bucketOf(peer, remote, nil); got != want {
			t.Errorf("the bucket of %q is %s, want %s", remote, got, want)
		}
	})
}

// hops are proxies of ours in front of the service, the last of which is its peer.
func hops(rng *rand.Rand) (list []string) {
	for range 1 + rng.IntN(4) {
		list = append(list, []string{"10.0.0.2", "192.168.7.1", "2001:db8:ffff::9", "::ffff:10.1.2.3"}[rng.IntN(4)])
	}
	return list
}

// forward is what the header looks like at the service when each hop has reported whom it got the request from: at the
// end of the last line, or as a line of its own.
func forward(rng *rand.Rand, header, client string, written, hops []string) (lines []string, remote string) {
	if len(written) > 1 || written[0] != "" {
		lines = slices.Clone(written)
	}
	from := client
	for _, hop := range hops {
		report := from
		if header == "Forwarded" {
			report = element(rng, from)
		}
		if last := len(lines) - 1; last >= 0 && rng.IntN(2) == 0 {
			lines[last] += ", " + report
		} else {
			lines = append(lines, report)
		}
		from = hop
	}
	return lines, "[" + from + "]:1234"
}

// element is what a proxy writes into Forwarded about an address.
func element(rng *rand.Rand, from string) string {
	node, quoted := from, rng.IntN(2) == 0
	if strings.Contains(from, ":") {
		node, quoted = "["+from+"]", true
	}
	if rng.IntN(3) == 0 {
		node, quoted = node+[]string{":4711", ":_hidden"}[rng.IntN(2)], true
	}
	if quoted {
		node = `"` + node + `"`
	}
	pairs := []string{"for=" + node}
	for _, other := range []string{
		`host="a, for=6.6.6.6;b=c"`, `ext="a\", for=6.6.6.6;b=\""`, `ext="\\"`, "proto=https", "by=_gateway",
		`host=""`, `x="="`,
	} {
		if rng.IntN(5) == 0 {
			pairs = slices.Insert(pairs, rng.IntN(len(pairs)+1), other)
		}
	}
	return strings.Join(pairs, []string{";", "; ", " ;"}[rng.IntN(3)])
}

// FuzzTrustedSuffix: whatever a client writes into the header, behind hops of ours it stays in its own bucket.
func FuzzTrustedSuffix(f *testing.F) {
	for _, written := range []string{
		"", "6.6.6.6", "10.0.0.9", "garbage,", ",,,", "6.6.6.6\n7.7.7.7", "for=6.6.6.6", `for="6.6.6.6`, `host="`, `a="\`,
		`for=6.6.6.6;host="x, y"`, "for=10.0.0.9,", "\x00\xff%{}", `for="`, `x="for=6.6.6.6`, `"`, `\"`, `="`, `a="b\"`,
	} {
		f.Add(written, "198.51.100.7", uint64(1))
		f.Add(written, "2001:db8:1::7", uint64(2))
	}
	f.Fuzz(func(t *testing.T, written, client string, seed uint64) {
		addr, err := netip.ParseAddr(client)
		if err != nil || addr.Zone() != "" || addr.Unmap().IsUnspecified() || addr.IsMulticast() ||
			(oracle{trusted: fuzzProxies}).trusts(addr.Unmap()) {
			t.Skip("no address of a client")
		}
		want := bucket(addr.Unmap())
		for _, header := range fuzzHeaders[:2] {
			rng := rand.New(rand.NewPCG(seed, 0))
			proxies := hops(rng)
			lines, remote := forward(rng, header, addr.String(), strings.Split(written, "\n"), proxies)
			got := bucketOf(resolver(t, oracle{header: header, trusted: fuzzProxies}), remote, http.Header{header: lines})
			if got != want {
				t.Errorf("with %s %q from %s the bucket is %s, want %s", header, lines, remote, got, want)
			}
		}
	})
}

// FuzzCountedHops: with a number of hops instead of their addresses it holds too.
func FuzzCountedHops(f *testing.F) {
	f.Add("6.6.6.6", "198.51.100.7", uint64(1))
	f.Add(",,\n", "198.51.100.7", uint64(2))
	f.Fuzz(func(t *testing.T, written, client string, seed uint64) {
		addr, err := netip.ParseAddr(client)
		if err != nil || addr.Zone() != "" || addr.Unmap().IsUnspecified() || addr.IsMulticast() {
			t.Skip("no address of a client")
		}
		rng := rand.New(rand.NewPCG(seed, 0))
		proxies := hops(rng)
		for _, header := range fuzzHeaders[:2] {
			lines, remote := forward(rng, header, addr.String(), strings.Split(written, "\n"), proxies)
			got := bucketOf(resolver(t, oracle{header: header, hops: len(proxies)}), remote, http.Header{header: lines})
			if want := bucket(addr.Unmap()); got != want {
				t.Errorf("with %s %q from %s and %d hops the bucket is %s, want %s", header, lines, remote, len(proxies), got, want)
			}
		}
	})
}
