package httplimit_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/httplimit/httplimit"
)

func TestClientAddr(t *testing.T) {
	lb := netip.MustParsePrefix("10.0.0.0/8")
	behind := httplimit.ClientIP(lb)
	direct := httplimit.ClientIP()
	single := httplimit.ClientIPFrom(httplimit.ClientIPConfig{
		Header: "CF-Connecting-IP", TrustedProxies: []netip.Prefix{lb}, TrustUnixSocket: true,
	})
	socket := httplimit.ClientIPFrom(httplimit.ClientIPConfig{Header: "X-Forwarded-For", TrustUnixSocket: true})
	tests := map[string]struct {
		client  httplimit.Key
		peer    string
		headers []string
		want    string // "" for an error
		fault   string // part of its text
		noKey   bool   // it wraps ErrNoKey
	}{
		"a peer":                   {client: direct, peer: "192.0.2.7:1234", want: "192.0.2.7"},
		"a peer without a port":    {client: direct, peer: "192.0.2.7", want: "192.0.2.7"},
		"IPv6 is not masked":       {client: direct, peer: "[2001:db8::1:2:3:4]:1", want: "2001:db8::1:2:3:4"},
		"IPv6 without its zone":    {client: direct, peer: "[fe80::1%eth0]:1", want: "fe80::1"},
		"IPv4-mapped":              {client: direct, peer: "[::ffff:192.0.2.7]:1", want: "192.0.2.7"},
		"NAT64":                    {client: direct, peer: "[64:ff9b::c000:207]:1", want: "192.0.2.7"},
		"IPv4 masks do not matter": {client: masked(), peer: "192.0.2.7:1", want: "192.0.2.7"},
		"a header nobody trusts": {
			direct,
			"192.0.2.7:1",
			[]string{"X-Forwarded-For", "203.0.113.9"},
			"192.0.2.7",
			"",
			false,
		},
		"behind a proxy": {
			behind,
			"10.0.0.1:1",
			[]string{"X-Forwarded-For", "203.0.113.9"},
			"203.0.113.9",
			"",
			false,
		},
		"behind a proxy, forged": {
			behind,
			"10.0.0.1:1",
			[]string{"X-Forwarded-For", "1.1.1.1, 203.0.113.9"},
			"203.0.113.9",
			"",
			false,
		},
		"past the proxy": {
			behind,
			"192.0.2.7:1",
			[]string{"X-Forwarded-For", "203.0.113.9"},
			"192.0.2.7",
			"",
			false,
		},
		"the proxy reports nothing": {client: behind, peer: "10.0.0.1:1", want: "10.0.0.1"},
		"a trusted unix socket":     {socket, "@", []string{"X-Forwarded-For", "203.0.113.9"}, "203.0.113.9", "", false},
		"a unix socket":             {client: direct, peer: "@", fault: "no IP address", noKey: true},
		"a silent unix socket":      {client: socket, peer: "@", fault: "no IP address", noKey: true},
		"ambiguous": {single, "10.0.0.1:1", []string{"Cf-Connecting-Ip", "203.0.113.9", "Cf-Connecting-Ip", "203.0.113.8"},
			"", "Cf-Connecting-Ip has lines of different values", false},
		"no key":             {client: nil, peer: "192.0.2.7:1", fault: "want a Key made by ClientIP"},
		"another key":        {client: httplimit.Everyone(), peer: "192.0.2.7:1", fault: "want a Key made by ClientIP"},
		"an address in more": {client: httplimit.Compose(direct), peer: "192.0.2.7:1", fault: "want a Key made by ClientIP"},
		"a faulty key": {client: httplimit.ClientIP(netip.MustParsePrefix("0.0.0.0/0")), peer: "192.0.2.7:1",
			fault: "TrustedProxies[0]: 0.0.0.0/0 trusts everybody"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.RemoteAddr = tt.peer
			for i := 0; i < len(tt.headers); i += 2 {
				r.Header.Add(tt.headers[i], tt.headers[i+1])
			}
			got, err := httplimit.ClientAddr(tt.client, r)
			if tt.want != "" {
				if err != nil || got != netip.MustParseAddr(tt.want) {
					t.Errorf("got %v, %v, want %s", got, err, tt.want)
				}
				return
			}
			if err == nil || got.IsValid() || !strings.Contains(err.Error(), tt.fault) {
				t.Errorf("got %v, %v, want no address and an error with %q", got, err, tt.fault)
			}
			if errors.Is(err, httplimit.ErrNoKey) != tt.noKey {
				t.Errorf("the error %v wraps ErrNoKey: got %v, want %v", err, !tt.noKey, tt.noKey)
			}
		})
	}
}

func masked() httplimit.Key {
	return httplimit.ClientIPFrom(httplimit.ClientIPConfig{IPv4Bits: 8, IPv6Bits: 32})
}

// It is called beside the rules, for the log line of each request perhaps.
func TestClientAddrAllocatesNothing(t *testing.T) {
	client := httplimit.ClientIP(netip.MustParsePrefix("10.0.0.0/8"))
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RemoteAddr = "10.0.0.1:1234"
	r.Header.Set("X-Forwarded-For", "1.1.1.1, 203.0.113.9")
	if got := testing.AllocsPerRun(100, func() { _, _ = httplimit.ClientAddr(client, r) }); got > 0 {
		t.Errorf("got %v allocations a call, want none", got)
	}
}

// An IPv4 network is that of its clients also where a translator writes them as IPv6 addresses, as their buckets are.
func TestConditionsKnowClientsBehindNAT64(t *testing.T) {
	client, network := httplimit.ClientIP(), netip.MustParsePrefix("192.0.2.0/24")
	for peer, inside := range map[string]bool{"[64:ff9b::c000:207]:1": true, "[64:ff9b::c633:6407]:1": false} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = peer
		if got := applies(t, httplimit.OnlyFrom(client, network), r); got != inside {
			t.Errorf("OnlyFrom, %s: the rule applies: got %v, want %v", peer, got, inside)
		}
		if got := applies(t, httplimit.NotFrom(client, network), r); got == inside {
			t.Errorf("NotFrom, %s: the rule applies: got %v, want %v", peer, got, !inside)
		}
	}
}
