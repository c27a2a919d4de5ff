package httplimit_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// spoofs are what a client behind a proxy tries, in order to be somebody else.
var spoofs = []struct {
	name    string
	headers [][2]string
}{
	{"nothing", nil},
	{"an address", [][2]string{{"X-Forwarded-For", "6.6.6.6"}}},
	{"a proxy's address", [][2]string{{"X-Forwarded-For", "127.0.0.1"}}},
	{"a chain that ends at a proxy", [][2]string{{"X-Forwarded-For", "6.6.6.6, 127.0.0.1, ::ffff:127.0.0.1"}}},
	{"two lines", [][2]string{{"X-Forwarded-For", "6.6.6.6"}, {"X-Forwarded-For", "7.7.7.7"}}},
	{"garbage to stop the parser", [][2]string{{"X-Forwarded-For", `,,"6.6.6.6", [::1, %, 127.0.0.1,`}}},
	{"a long chain", [][2]string{{"X-Forwarded-For", strings.Repeat("127.0.0.1, ", 1000) + "6.6.6.6"}}},
	{"other names", [][2]string{{"X-Real-IP", "6.6.6.6"}, {"True-Client-IP", "6.6.6.6"},
		{"CF-Connecting-IP", "6.6.6.6"}, {"X-Client-IP", "6.6.6.6"}}},
	{"Forwarded", [][2]string{{"Forwarded", `for=6.6.6.6;host="a, for=7.7.7.7"`}}},
	{"an open quote in Forwarded", [][2]string{{"Forwarded", `host="a`}}},
	{"an open quote before a proxy's element", [][2]string{{"Forwarded", `for="`}}},
	{"a quote in the wrong place", [][2]string{{"Forwarded", `for=6.6.6.6"`}}},
	{"the name in other letters", [][2]string{{"x-FORWARDED-for", "6.6.6.6"}, {"X_Forwarded_For", "6.6.6.6"}}},
	{"a wish that the proxy drop the header", [][2]string{{"Connection", "X-Forwarded-For, Forwarded"},
		{"X-Forwarded-For", "6.6.6.6"}}},
}

// proxyStyles are how a proxy reports the client.
var proxyStyles = []struct {
	name   string
	header string
	report func(r *httputil.ProxyRequest, client string)
}{
	{"appended to X-Forwarded-For", "X-Forwarded-For", func(r *httputil.ProxyRequest, _ string) { r.SetXForwarded() }},
	{"a line of X-Forwarded-For", "X-Forwarded-For", func(r *httputil.ProxyRequest,
		client string) {
		r.Out.Header.Add("X-Forwarded-For", client)
	}},
	{"a line of Forwarded", "Forwarded", func(r *httputil.ProxyRequest,
		client string) {
		r.Out.Header.Add("Forwarded", "for="+client)
	}},
	{"appended to Forwarded", "Forwarded", func(r *httputil.ProxyRequest, client string) {
		element := "for=" + client + `;host="a, for=6.6.6.6"` // a proxy that quotes the Host of its clients
		if lines := r.Out.Header["Forwarded"]; len(lines) > 0 {
			lines[len(lines)-1] += ", " + element
		} else {
			r.Out.Header.Set("Forwarded", element)
		}
	}},
	{"X-Real-IP overwritten", "X-Real-IP", func(r *httputil.ProxyRequest,
		client string) {
		r.Out.Header.Set("X-Real-IP", client)
	}},
}

func TestSpoofingBehindARealProxy(t *testing.T) {
	for _, style := range proxyStyles {
		t.Run(style.name, func(t *testing.T) {
			m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{{
				Name: "ip", Limit: limiter.PerDay(3),
				Key: httplimit.ClientIPFrom(httplimit.ClientIPConfig{Header: style.header,
					TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}),
			}}})
			service := httptest.NewServer(m.Handler(http.NotFoundHandler()))
			defer service.Close()
			target, err := url.Parse(service.URL)
			if err != nil {
				t.Fatal(err)
			}
			proxy := httptest.NewServer(newProxy(target, style.report))
			defer proxy.Close()

			attacker := clientAt(t, "127.0.0.2")
			passed := 0
			for _, spoof := range spoofs {
				switch got := ask(t, attacker, proxy.URL, spoof.headers); got {
				case http.StatusNotFound:
					passed++
				case http.StatusTooManyRequests:
				default:
					t.Errorf("%s: got status %d, want 404 or 429", spoof.name, got)
				}
				if passed > 3 {
					t.Fatalf("%s: the client got past its limit of 3", spoof.name)
				}
			}
			if passed != 3 {
				t.Errorf("%d requests of the client passed, want 3", passed)
			}
			if got := ask(t, clientAt(t, "127.0.0.3"), proxy.URL, nil); got != http.StatusNotFound {
				t.Errorf("another client got status %d, want 404: it has spent nothing", got)
			}
			if got := ask(t, clientAt(t, "127.0.0.4"), service.URL,
				[][2]string{{style.header, "127.0.0.2"}}); got != http.StatusNotFound {
				t.Errorf("a client that comes past the proxy got status %d, want 404: it cannot be another", got)
			}
		})
	}
}

// newProxy passes on what clients wrote into forwarding headers, as most proxies do.
func newProxy(target *url.URL, report func(r *httputil.ProxyRequest, client string)) http.Handler {
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		for _, name := range []string{"Forwarded", "X-Forwarded-For"} {
			r.Out.Header[name] = slices.Clone(r.In.Header.Values(name))
		}
		client, _, _ := net.SplitHostPort(r.In.RemoteAddr)
		report(r, client)
	}}
}

// clientAt makes connections from an address of the loopback network.
func clientAt(t *testing.T, address string) *http.Client {
	t.Helper()
	local := &net.TCPAddr{IP: net.ParseIP(address)}
	probe, err := net.ListenTCP("tcp", local)
	if err != nil {
		t.Skipf("this machine has no %s: %v", address, err)
	}
	probe.Close()
	transport := &http.Transport{DialContext: func(ctx context.Context, network, target string) (net.Conn, error) {
		return (&net.Dialer{LocalAddr: local}).DialContext(ctx, network, target)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func ask(t *testing.T, client *http.Client, target string, headers [][2]string) int {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range headers {
		r.Header[line[0]] = append(r.Header[line[0]], line[1]) // as spelled
	}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	return answer.StatusCode
}
