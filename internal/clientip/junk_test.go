package clientip

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// junk is what clients send in order to confuse a parser, in any number and order.
var junk = []string{
	`"`, `\`, `,`, `;`, `=`, ` `, "\t", `for`, `for=`, `for="`, `host="`, `x="`, `a`, `[`, `]`, `:`, `_hidden`, `unknown`,
	`\"`, `""`, `6.6.6.6`, `for=6.6.6.6`, `for="[2001:db8:bad::1]:80"`, `10.0.0.9`, `for=10.0.0.9`, `by=10.0.0.9`,
	"\x00", "\xff", "%",
}

func junkLines(rng *rand.Rand) []string {
	lines := make([]string, 1+rng.IntN(3))
	for i := range lines {
		for range rng.IntN(8) {
			lines[i] += junk[rng.IntN(len(junk))]
		}
	}
	return lines
}

// TestJunkVoidsNothing: what a client writes stands left of what the proxies append, and changes nothing of it.
func TestJunkVoidsNothing(t *testing.T) {
	const headers = 40_000
	for _, header := range fuzzHeaders[:2] {
		t.Run(header, func(t *testing.T) {
			byAddress := resolver(t, oracle{header: header, trusted: fuzzProxies})
			rng := rand.New(rand.NewPCG(1, 2))
			different := 0
			for range headers {
				proxies := hops(rng)
				lines, remote := forward(rng, header, "198.51.100.7", junkLines(rng), proxies)
				byCount := resolver(t, oracle{header: header, hops: len(proxies)})
				for _, r := range []*Resolver{byAddress, byCount} {
					if got := bucketOf(r, remote, http.Header{header: lines}); got != "198.51.100.7" {
						if different++; different <= 10 {
							t.Errorf("with %q from %s the bucket is %s, want 198.51.100.7", lines, remote, got)
						}
					}
				}
			}
			if different > 0 {
				t.Errorf("%d of %d headers hide the client, want none", different, headers)
			}
		})
	}
}

// TestForwardedFromTheRight: the last element counts, whatever stands left of it; a quoted string is part of one.
func TestForwardedFromTheRight(t *testing.T) {
	for _, test := range []struct{ name, line, want string }{
		{"an open quote left of it", `for=", for=192.0.2.7`, "192.0.2.7"},
		{"an open quote in the middle of a word", `x"y, for=192.0.2.7`, "192.0.2.7"},
		{"a quote alone", `", for=192.0.2.7`, "192.0.2.7"},
		{"an open quote, and a quoted address", `for=", for="192.0.2.7:80"`, "192.0.2.7"},
		{"an open quote, and quotes behind the address", `host="a, for=192.0.2.7;host="b"`, "192.0.2.7"},
		{"an escaped quote left of it", `for="\", for=192.0.2.7`, "192.0.2.7"},
		{"a backslash left of it", `for="6.6.6.6\, for=192.0.2.7`, "192.0.2.7"},
		{"a whole string that is open", `for="a";host="b, for=192.0.2.7`, "192.0.2.7"},
		{"an element in the quotes of the last one", `for=192.0.2.7;host="a, for=6.6.6.6"`, "192.0.2.7"},
		{"and one with escaped quotes", `for=192.0.2.7;host="a\", for=6.6.6.6;b=\""`, "192.0.2.7"},
		{"a string that ends with an escaped backslash", `for=6.6.6.6, host="a\\";for=192.0.2.7`, "192.0.2.7"},
		{"a last element with an open quote is no address", `for=6.6.6.6, for="192.0.2.7`, "10.0.0.2"},
		{"nor one with a quote too many", `for=6.6.6.6, for=192.0.2.7;host=a"`, "10.0.0.2"},
		{"nor one of text behind a quoted string", `for=6.6.6.6, for=192.0.2.7;host="a"b`, "10.0.0.2"},
		{"nor one of a proxy that escapes nothing", `for=192.0.2.7;host="a\"`, "10.0.0.2"},
		{"junk stops the walk behind a trusted element", `for=6.6.6.6, junk", for=10.0.0.9`, "10.0.0.9"},
		{"what is well formed is reached through trusted elements", `for=192.0.2.7, for=10.0.0.9;by="a, b"`, "192.0.2.7"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := resolver(t, oracle{header: "Forwarded", trusted: fuzzProxies})
			if got := bucketOf(r, "10.0.0.2:1", http.Header{"Forwarded": {test.line}}); got != test.want {
				t.Errorf("with %s the bucket is %s, want %s", test.line, got, test.want)
			}
		})
	}
}

// FuzzForwarded: with any text to its left, in its line or in lines before it, a proxy's element is found; the walk
// goes on from it only if it names another trusted hop.
func FuzzForwarded(f *testing.F) {
	for _, text := range junk {
		f.Add(text, text+"\n"+text, uint64(0))
		f.Add("for=6.6.6.6, "+text, `for="`+text, uint64(1))
	}
	f.Fuzz(func(t *testing.T, before, left string, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0))
		r := resolver(t, oracle{header: "Forwarded", trusted: fuzzProxies})
		for _, client := range []string{"198.51.100.7", "2001:db8:1::7"} {
			lines := []string{before, left + ", " + element(rng, client)}
			want := bucket(netip.MustParseAddr(client))
			if got := bucketOf(r, "10.0.0.2:1", http.Header{"Forwarded": lines}); got != want {
				t.Errorf("with %q the bucket is %s, want %s", lines, got, want)
			}
			lines[1] = left + "," + element(rng, "10.0.0.9")
			o := oracle{header: "Forwarded", trusted: fuzzProxies}
			want = bucket(o.client("10.0.0.9:1", []string{before, left}))
			if got := bucketOf(r, "10.0.0.2:1", http.Header{"Forwarded": lines}); got != want {
				t.Errorf("with %q and a trusted hop at its end the bucket is %s, want that of what stands before it, %s", lines,
					got, want)
			}
		}
	})
}

// TestSingleValueLines: one address in two lines is one address; two are none, and nobody is taken for either.
func TestSingleValueLines(t *testing.T) {
	r := resolver(t, oracle{header: "X-Real-Ip", trusted: fuzzProxies})
	for _, test := range []struct {
		lines  []string
		want   string
		origin Origin
	}{
		{[]string{"198.51.100.7"}, "198.51.100.7", Reported},
		{[]string{"198.51.100.7", "198.51.100.7"}, "198.51.100.7", Reported},
		{[]string{"6.6.6.6", "198.51.100.7"}, noAddress, Ambiguous},
		{[]string{"198.51.100.7", "6.6.6.6"}, noAddress, Ambiguous},
		{[]string{"", "198.51.100.7"}, noAddress, Ambiguous},
		{[]string{"6.6.6.6, 198.51.100.7"}, "10.0.0.2", Proxy},
		{nil, "10.0.0.2", Proxy},
	} {
		_, origin := r.Client("10.0.0.2:1", test.lines)
		got := bucketOf(r, "10.0.0.2:1", http.Header{"X-Real-Ip": test.lines})
		if got != test.want || origin != test.origin {
			t.Errorf("with %q the bucket is %s, origin %d, want %s and %d", test.lines, got, origin, test.want, test.origin)
		}
	}
	if got := bucketOf(r, "203.0.113.66:1", http.Header{"X-Real-Ip": {"6.6.6.6", "7.7.7.7"}}); got != "203.0.113.66" {
		t.Errorf("from a peer that is not trusted the bucket is %s, want its own", got)
	}
}

// TestFaults: a header that nobody is trusted to write would never be read.
func TestFaults(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	for _, test := range []struct {
		cfg  Config
		want []string
	}{
		{Config{Header: "X-Real-IP"}, []string{"TrustedProxies"}},
		{Config{Header: "x-forwarded-for"}, []string{"TrustedProxies"}},
		{Config{Header: "Forwarded", TrustAll: true}, []string{"TrustedProxies"}},
		{Config{Header: "X-Real-IP", TrustedHops: 1}, []string{"TrustedHops"}},
		{Config{Header: "X-Real-IP", TrustedProxies: proxies}, nil},
		{Config{Header: "X-Real-IP", TrustUnixSocket: true}, nil},
		{Config{Header: "Forwarded", TrustedHops: 1}, nil},
		{Config{}, nil},
	} {
		t.Run(fmt.Sprintf("%+v", test.cfg), func(t *testing.T) {
			_, faults := New(test.cfg)
			var fields []string
			for _, fault := range faults {
				fields = append(fields, fault.Field)
				if !strings.Contains(fault.Reason, test.cfg.Header) || !strings.Contains(fault.Reason, "want") {
					t.Errorf("the reason is %q, want it to name %s and what would be right", fault.Reason, test.cfg.Header)
				}
			}
			if !slices.Equal(fields, test.want) {
				t.Errorf("the faults are at %q, want %q", fields, test.want)
			}
		})
	}
}
