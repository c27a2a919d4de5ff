package main

import (
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// newService returns the greeting with its limit.
func newService() (http.Handler, error) {
	limit, err := httplimit.New(httplimit.Config{Rules: []httplimit.Rule{
		{Name: "ip", Key: clientBehindProxy(), Limit: limiter.Per(5, 10*time.Second)},
	}})
	if err != nil {
		return nil, err
	}
	return limit.Handler(http.HandlerFunc(hello)), nil
}

// clientBehindProxy believes what one hop, the proxy, has appended to X-Forwarded-For, if it connects from 127.0.0.1.
//
// A proxy with an address of its own needs less: httplimit.ClientIP(netip.MustParsePrefix("10.0.0.5/32")). Here the
// client is on the proxy's machine and has the same address, so the hops are counted instead.
func clientBehindProxy() httplimit.Key {
	return httplimit.ClientIPFrom(httplimit.ClientIPConfig{
		Header:         "X-Forwarded-For",
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")},
		TrustedHops:    1,
	})
}

// hello shows the header as it arrives here: what the client wrote is still there, left of what the proxy appended.
func hello(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "hello, X-Forwarded-For is %q\n", r.Header.Values("X-Forwarded-For"))
}
