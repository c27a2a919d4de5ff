package httplimit_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

func TestNotFrom(t *testing.T) {
	office, lb := netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("10.0.0.0/8")
	tests := map[string]struct {
		client   httplimit.Key
		networks []netip.Prefix
		peer     string
		xff      string
		applies  bool
	}{
		"outside": {httplimit.ClientIP(), []netip.Prefix{office}, "192.0.2.7:1", "", true},
		"inside":  {httplimit.ClientIP(), []netip.Prefix{office}, "198.51.100.7:1", "", false},
		"inside, IPv4-mapped": {httplimit.ClientIP(), []netip.Prefix{office}, "[::ffff:198.51.100.7]:1", "",
			false},
		"inside a mapped network": {httplimit.ClientIP(),
			[]netip.Prefix{netip.MustParsePrefix("::ffff:198.51.100.0/120")}, "198.51.100.7:1", "", false},
		"one of several": {httplimit.ClientIP(),
			[]netip.Prefix{lb, netip.MustParsePrefix("2001:db8::/32")}, "[2001:db8::1]:1", "", false},
		"a header that nobody trusts": {httplimit.ClientIP(), []netip.Prefix{office}, "192.0.2.7:1", "198.51.100.7",
			true},
		"behind a proxy, inside": {httplimit.ClientIP(lb), []netip.Prefix{office}, "10.0.0.1:1", "198.51.100.7",
			false},
		"behind a proxy, spoofed": {httplimit.ClientIP(lb), []netip.Prefix{office}, "10.0.0.1:1",
			"198.51.100.7, 192.0.2.7", true},
		"no address": {httplimit.ClientIP(), []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")},
			"@", "", true},
		"no networks":                       {httplimit.ClientIP(), nil, "192.0.2.7:1", "", true},
		"an invalid network exempts nobody": {httplimit.ClientIP(), []netip.Prefix{{}}, "192.0.2.7:1", "", true},
		"a key that is no address":          {httplimit.Everyone(), []netip.Prefix{office}, "198.51.100.7:1", "", true},
		"a faulty key": {httplimit.ClientIP(netip.MustParsePrefix("0.0.0.0/0")),
			[]netip.Prefix{office}, "198.51.100.7:1", "", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr = tt.peer
			if tt.xff != "" {
				r.Header.Set("X-Forwarded-For", tt.xff)
			}
			if got := applies(t, httplimit.NotFrom(tt.client, tt.networks...), r); got != tt.applies {
				t.Errorf("the rule applies: got %v, want %v", got, tt.applies)
			}
		})
	}
}

// applies reports whether a rule with that condition counts the request.
func applies(t *testing.T, when func(*http.Request) bool, r *http.Request) bool {
	t.Helper()
	store := &scripted{}
	m := mustNew(t, httplimit.Config{Store: store, Rules: []httplimit.Rule{
		{Name: "r", Key: httplimit.Everyone(), Limit: limiter.PerDay(5), When: when},
	}})
	serveRequest(m, r)
	return len(store.charges()) == 1
}

func TestOnlyFrom(t *testing.T) {
	banned, lb := netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("10.0.0.0/8")
	tests := map[string]struct {
		client   httplimit.Key
		networks []netip.Prefix
		peer     string
		xff      string
		applies  bool
	}{
		"outside": {httplimit.ClientIP(), []netip.Prefix{banned}, "192.0.2.7:1", "", false},
		"inside":  {httplimit.ClientIP(), []netip.Prefix{banned}, "198.51.100.7:1", "", true},
		"inside, IPv4-mapped": {httplimit.ClientIP(), []netip.Prefix{banned}, "[::ffff:198.51.100.7]:1", "",
			true},
		"inside a mapped network": {httplimit.ClientIP(),
			[]netip.Prefix{netip.MustParsePrefix("::ffff:198.51.100.0/120")}, "198.51.100.7:1", "", true},
		"one of several": {httplimit.ClientIP(),
			[]netip.Prefix{lb, netip.MustParsePrefix("2001:db8::/32")}, "[2001:db8::1]:1", "", true},
		"another of the same /64": {httplimit.ClientIP(), []netip.Prefix{netip.MustParsePrefix("2001:db8::1/128")},
			"[2001:db8::2]:1", "", false},
		"a header that nobody trusts": {httplimit.ClientIP(), []netip.Prefix{banned}, "198.51.100.7:1", "192.0.2.7",
			true},
		"behind a proxy, inside": {httplimit.ClientIP(lb), []netip.Prefix{banned}, "10.0.0.1:1", "198.51.100.7",
			true},
		"behind a proxy, spoofed": {httplimit.ClientIP(lb), []netip.Prefix{banned}, "10.0.0.1:1",
			"192.0.2.7, 198.51.100.7", true},
		"behind a proxy, outside": {httplimit.ClientIP(lb), []netip.Prefix{banned}, "10.0.0.1:1", "192.0.2.7", false},
		"no address":              {httplimit.ClientIP(), []netip.Prefix{banned}, "@", "", true},
		"no networks":             {httplimit.ClientIP(), nil, "192.0.2.7:1", "", false},
		"an invalid network may be anybody's": {httplimit.ClientIP(), []netip.Prefix{banned, {}}, "192.0.2.7:1", "",
			true},
		"a key that is no address": {httplimit.Everyone(), []netip.Prefix{banned}, "192.0.2.7:1", "", true},
		"no key":                   {nil, []netip.Prefix{banned}, "192.0.2.7:1", "", true},
		"a faulty key": {httplimit.ClientIP(netip.MustParsePrefix("0.0.0.0/0")),
			[]netip.Prefix{banned}, "192.0.2.7:1", "", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr = tt.peer
			if tt.xff != "" {
				r.Header.Set("X-Forwarded-For", tt.xff)
			}
			if got := applies(t, httplimit.OnlyFrom(tt.client, tt.networks...), r); got != tt.applies {
				t.Errorf("the rule applies: got %v, want %v", got, tt.applies)
			}
		})
	}
}
