package httplimit

import (
	"bytes"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/httplimit/httplimit/limiter"
)

func TestAddressWarnings(t *testing.T) {
	trusted := ClientIP(netip.MustParsePrefix("10.0.0.0/8"))
	unix := ClientIPFrom(ClientIPConfig{Header: "X-Real-IP", TrustUnixSocket: true})
	counted := ClientIPFrom(ClientIPConfig{Header: "Forwarded", TrustedHops: 2})
	xff := [2]string{"X-Forwarded-For", "198.51.100.7"}
	for _, test := range []struct {
		name    string
		key     Key
		request Request
		want    string
	}{
		{"a header that nobody trusts", ClientIP(), request("192.0.2.7:1", xff), "forwarded-header-not-trusted"},
		{"Forwarded as well", ClientIP(), request("192.0.2.7:1", [2]string{"Forwarded", "for=198.51.100.7"}),
			"forwarded-header-not-trusted"},
		{"a peer of IPv6 with such a header", ClientIP(), request("[2001:db8::7]:1", xff), "forwarded-header-not-trusted"},
		{"a header that the NoKey does not trust", Header("X-A"), request("192.0.2.7:1", xff),
			"forwarded-header-not-trusted"},
		{"no header", ClientIP(), request("192.0.2.7:1"), ""},
		{"a header of other names", ClientIP(), request("192.0.2.7:1", [2]string{"X-Real-IP", "198.51.100.7"}), ""},
		{"a peer of IPv4 without port", ClientIP(), request("6.6.6.6"), "remote-address-rewritten"},
		{"a peer of IPv6 without port", ClientIP(), request("2001:db8::7"), "remote-address-rewritten"},
		{"one in brackets", ClientIP(), request("[2001:db8::7]"), "remote-address-rewritten"},
		{"one where proxies are trusted", trusted, request("10.0.0.2", xff), "remote-address-rewritten"},
		{"one told by an adapter", ClientIP(), &foreignRequest{Request: request("6.6.6.6")}, "remote-address-rewritten"},
		{"one of a framework without net/http", ClientIP(),
			&foreignRequest{Request: struct{ Request }{request("6.6.6.6")}}, ""},
		{"a peer of IPv6", ClientIP(), request("[2001:db8::7]:1"), ""},
		{"a peer without address", ClientIP(), request("@"), "peer-without-address"},
		{"one that is trusted", unix, request("@", [2]string{"X-Real-IP", "198.51.100.7"}), ""},
		{"one that is trusted and reports nothing", unix, request("@"), "client-address-is-a-proxy"},
		{"a proxy that reports nothing", trusted, request("10.0.0.2:1"), "client-address-is-a-proxy"},
		{"a proxy that reports garbage", trusted, request("10.0.0.2:1", [2]string{"X-Forwarded-For", "unknown"}),
			"client-address-is-a-proxy"},
		{"fewer hops than counted", counted, request("10.0.0.2:1", [2]string{"Forwarded", "for=198.51.100.7"}),
			"client-address-is-a-proxy"},
		{"a proxy that reports", trusted, request("10.0.0.2:1", xff), ""},
		{"a proxy that is not trusted, or a client that came past it", trusted, request("192.0.2.7:1", xff),
			"forwarded-header-from-untrusted-peer"},
		{"a client that came past the proxy without the header", trusted, request("192.0.2.7:1"), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var mu sync.Mutex
			var codes []string
			keys, faults := compileKey("Key", "NoKey", test.key, nil, nil, func(code, message string) {
				mu.Lock()
				defer mu.Unlock()
				codes = append(codes, code)
				if !strings.Contains(message, "ClientIP") || strings.Contains(message, "198.51.100.7") ||
					strings.Contains(message, "{}") {
					t.Errorf("the message of %s is %q, want it to tell what to do, and no address", code, message)
				}
			})
			if len(faults) > 0 {
				t.Fatal(faults[0])
			}
			var clients sync.WaitGroup
			for range 8 {
				clients.Go(func() {
					for range 10 {
						found(keys, test.request)
					}
				})
			}
			clients.Wait()
			slices.Sort(codes)
			switch {
			case test.want == "" && len(codes) > 0:
				t.Errorf("the warnings are %q, want none", codes)
			case test.want != "" && (!slices.Contains(codes,
				test.want) || len(slices.Compact(slices.Clone(codes))) != len(codes)):
				t.Errorf("the warnings are %q, want %q, and each once", codes, test.want)
			}
		})
	}
}

// TestAddressWarningsNameTheHeader: the one that is configured, or the one that nobody reads.
func TestAddressWarningsNameTheHeader(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	cloud := ClientIPFrom(ClientIPConfig{Header: "cf-connecting-ip", TrustedProxies: proxies})
	forwarded := ClientIPFrom(ClientIPConfig{Header: "Forwarded", TrustedProxies: proxies})
	for _, test := range []struct {
		name    string
		key     Key
		request Request
		want    string
	}{
		{"a proxy that does not report", cloud, request("10.0.0.2:1"), "Cf-Connecting-Ip"},
		{"a proxy that does not report in a list", forwarded, request("10.0.0.2:1"), "Forwarded"},
		{"a peer that is not trusted", cloud, request("6.6.6.6:1", [2]string{"CF-Connecting-IP", "7.7.7.7"}),
			"Cf-Connecting-Ip"},
		{"nobody trusted", ClientIP(), request("6.6.6.6:1", [2]string{"Forwarded", "for=7.7.7.7"}), "Forwarded"},
		{"nobody trusted, the other list", ClientIP(), request("6.6.6.6:1", [2]string{"X-Forwarded-For", "7.7.7.7"}),
			"X-Forwarded-For"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var messages []string
			keys, faults := compileKey("Key", "NoKey", test.key, nil, nil, func(_, message string) {
				messages = append(messages, message)
			})
			if len(faults) > 0 {
				t.Fatal(faults[0])
			}
			keys.find(test.request, false)
			if len(messages) != 1 || !strings.Contains(messages[0], test.want) ||
				strings.Contains(messages[0], "X-Forwarded-For") !=
					(test.want == "X-Forwarded-For") {
				t.Errorf("the warnings are %q, want one that names %s and no other header", messages, test.want)
			}
		})
	}
}

// counting is a request that counts how often its headers are asked for.
type counting struct {
	Request
	asked int
}

func (c *counting) Values(header string) []string {
	c.asked++
	return c.Request.Values(header)
}

// TestHeadersAreSampled: without a header to warn of it is looked for in the first requests, then in few. A ClientIP
// that trusts proxies reads its header once a request anyway.
func TestHeadersAreSampled(t *testing.T) {
	const requests = 100 * sampleEvery
	for name, tt := range map[string]struct {
		key         Key
		least, most int
	}{
		// The mean is 100 requests with at most 2 headers each: 10 times that does not happen by chance.
		"no proxies":   {ClientIP(), 1, 2 * 1000},
		"another peer": {ClientIP(netip.MustParsePrefix("10.0.0.0/8")), requests, requests},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := New(Config{Rules: []Rule{{Name: "ip", Key: tt.key, Limit: limiter.PerHour(1)}}})
			if err != nil {
				t.Fatal(err)
			}
			r := &counting{Request: request("192.0.2.7:1")}
			for range checkFirst {
				asked := r.asked
				m.Check(r).Settle(200)
				if r.asked == asked {
					t.Fatal("one of the first requests was not checked, want all of them")
				}
			}
			r.asked = 0
			for range requests {
				m.Check(r).Settle(200)
			}
			if r.asked < tt.least || r.asked > tt.most {
				t.Errorf("%d requests were asked for headers %d times, want %d to %d", requests, r.asked, tt.least, tt.most)
			}
		})
	}
}

// TestUntrustedHeaderIsFoundLater: a proxy that is put in front of a running service is found as well, though not with
// its first request.
func TestUntrustedHeaderIsFoundLater(t *testing.T) {
	var log bytes.Buffer
	m, err := New(Config{
		Rules:  []Rule{{Name: "ip", Key: ClientIP(), Limit: limiter.PerHour(1)}},
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	direct, proxied := request("192.0.2.7:1"), request("192.0.2.7:1", [2]string{"X-Forwarded-For", "198.51.100.7"})
	for range 2 * checkFirst {
		m.Check(direct).Settle(200)
	}
	for range 100 * sampleEvery { // by chance none of them is checked once in e^100 times
		m.Check(proxied).Settle(200)
	}
	if got := strings.Count(log.String(), "forwarded-header-not-trusted"); got != 1 {
		t.Errorf("warned %d times, want once; the log is %q", got, log.String())
	}
}
