package httplimit

import (
	"context"
	"net/http"
	"net/netip"
	"testing"
)

// keyCosts are what keys may allocate for one request: nothing where the key stands in the request as it is, else
// the key itself.
func keyCosts(t testing.TB) []keyCost {
	proxies := netip.MustParsePrefix("10.0.0.0/8")
	forwarded := ClientIPFrom(ClientIPConfig{Header: "Forwarded", TrustedProxies: []netip.Prefix{proxies}})
	behind := func(remote, header, value string) Request { return request(remote, [2]string{header, value}) }
	v4, v6 := request("192.0.2.7:1234"), request("[2001:db8:1:2::7]:1234")
	token := lines("Authorization", "Bearer abcdefghijklmnopqrstuvwxyz")
	user := newRequest(func(r *http.Request) {
		*r = *r.WithContext(context.WithValue(r.Context(), userKey{}, "alice"))
	})
	return []keyCost{
		{"key=peer4", compiled(t, ClientIP(), nil, ""), v4, 0, false},
		{"key=peer6", compiled(t, ClientIP(), nil, ""), v6, 1, false},
		{"key=xff", compiled(t, ClientIP(proxies), nil, ""),
			behind("10.0.0.2:1", "X-Forwarded-For", "6.6.6.6, 192.0.2.7, 10.0.0.3"), 0, false},
		{"key=forwarded", compiled(t, forwarded, nil, ""),
			behind("10.0.0.2:1", "Forwarded", `for=6.6.6.6, for=192.0.2.7;host="a,b", for=10.0.0.3`), 0, false},
		{"key=header", compiled(t, Header("X-Tenant"), nil, ""), lines("X-Tenant", "acme"), 0, false},
		{"key=ambiguous", compiled(t, Header("X-Tenant"), nil, ""), lines("X-Tenant", "a", "X-Tenant", "b"), 0, false},
		{"key=context", compiled(t, ContextValue(userKey{}), nil, ""), user, 0, false},
		{"key=basic", compiled(t, BasicUser(), nil, ""), lines("Authorization", "Basic YWxpY2U6eA=="), 1, false},
		{"key=bearer", compiled(t, BearerToken(), nil, ""), token, 1, true},
		{"key=nokey", compiled(t, Header("X-Tenant"), nil, ""), v4, 1, true},
		{"key=compose", compiled(t, Compose(ClientIP(), Header("X-Tenant")), nil, ""),
			behind("[2001:db8:1:2::7]:1", "X-Tenant", "acme"), 1, true},
		{"key=firstof", compiled(t, FirstOf(Header("X-Tenant"), ClientIP()), nil, ""), v6, 1, true},
		{"keyed=peer4", compiled(t, ClientIP(), nil, keySecret), v4, 1, true},
		{"keyed=peer6", compiled(t, ClientIP(), nil, keySecret), v6, 1, true},
		{"keyed=compose", compiled(t, Compose(ClientIP(), Header("X-Tenant")), nil, keySecret),
			behind("[2001:db8:1:2::7]:1", "X-Tenant", "acme"), 1, true},
		{"keyed=bearer", compiled(t, BearerToken(), nil, keySecret), token, 1, true},
	}
}

type keyCost struct {
	name    string
	keys    *ruleKeys
	request Request
	most    float64
	pooled  bool
}

func TestKeyAllocations(t *testing.T) {
	for _, c := range keyCosts(t) {
		t.Run(c.name, func(t *testing.T) {
			if raceEnabled && c.pooled {
				t.Skip("the race detector drops pooled values at random")
			}
			if got := testing.AllocsPerRun(200, func() { c.keys.find(c.request, false) }); got > c.most {
				t.Errorf("it allocates %v times a request, want at most %v", got, c.most)
			}
		})
	}
}

// TestPreflightAllocations: a preflight costs its key, which is a new text; other methods are not looked at.
func TestPreflightAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector drops pooled values at random")
	}
	keys, r := compiled(t, ClientIP(), nil, ""), request("192.0.2.7:1234")
	if got := testing.AllocsPerRun(200, func() { keys.find(r, true) }); got > 1 {
		t.Errorf("the key of a preflight allocates %v times, want once at most", got)
	}
	asking := &counting{Request: lines("Origin", "https://app.example", "Access-Control-Request-Method", "POST")}
	if isPreflight(asking) || asking.asked > 0 {
		t.Errorf("a GET was asked for %d headers, want none, since it is no preflight", asking.asked)
	}
}

func BenchmarkKey(b *testing.B) {
	for _, c := range keyCosts(b) {
		b.Run(c.name, func(b *testing.B) {
			want := c.keys.find(c.request, false).key
			b.ReportAllocs()
			for b.Loop() {
				if got := c.keys.find(c.request, false).key; got != want {
					b.Fatalf("the key is %q, want %q", got, want)
				}
			}
		})
	}
}
