package httplimit_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// TestProxyOnTheSameHost: what each way to trust a proxy on this machine means for clients, and for whoever else is on
// the machine. The proxy appends its peer to X-Forwarded-For, as nginx does with $proxy_add_x_forwarded_for.
func TestProxyOnTheSameHost(t *testing.T) {
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("::1/128")}
	hops := httplimit.ClientIPConfig{Header: "X-Forwarded-For", TrustedHops: 1}
	both := hops
	both.TrustedProxies = loopback
	keys := map[string]httplimit.Key{
		"TrustedHops":              httplimit.ClientIPFrom(hops),
		"TrustedHops and loopback": httplimit.ClientIPFrom(both),
		"loopback by address":      httplimit.ClientIP(loopback...),
	}
	const forged = "203.0.113.66"
	tests := map[string]struct {
		peer, header string
		want         map[string]string // the address that is counted, "" means the forged one
	}{
		"a client through the proxy": {"127.0.0.1:1", forged + ", 198.51.100.7", map[string]string{
			"TrustedHops": "198.51.100.7", "TrustedHops and loopback": "198.51.100.7", "loopback by address": "198.51.100.7",
		}},
		"local curl through the proxy": {"127.0.0.1:1", forged + ", 127.0.0.1", map[string]string{
			"TrustedHops": "127.0.0.1", "TrustedHops and loopback": "127.0.0.1", "loopback by address": "",
		}},
		"local curl past the proxy": {"127.0.0.1:1", forged, map[string]string{
			"TrustedHops": "", "TrustedHops and loopback": "", "loopback by address": "",
		}},
		"a client past the proxy": {"198.51.100.7:1", forged, map[string]string{
			"TrustedHops": "", "TrustedHops and loopback": "198.51.100.7", "loopback by address": "198.51.100.7",
		}},
	}
	for name, tt := range tests {
		for setup, key := range keys {
			t.Run(name+", "+setup, func(t *testing.T) {
				want := tt.want[setup]
				if want == "" {
					want = forged
				}
				m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{
					{Name: "ip", Key: key, Limit: limiter.PerDay(5)},
				}})
				r := httptest.NewRequest(http.MethodGet, "/", nil)
				r.RemoteAddr = tt.peer
				r.Header.Set("X-Forwarded-For", tt.header)
				serveRequest(m, r)
				if v, err := m.Peek(t.Context(), "ip", want); err != nil || v.Remaining != 4 {
					t.Errorf("%s has %d of 5 left, %v, want 4: it should have been counted", want, v.Remaining, err)
				}
			})
		}
	}
}
