package frameworks_test

import (
	"net/http"
	"net/netip"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// zeroes are about limits of 0, which let nothing pass: no handler runs, and no time to come back is told.
func zeroes() []scenario {
	tenant := httplimit.Rule{Name: "tenant", Key: httplimit.Header("X-Tenant"), Limit: limiter.PerHour(9),
		LimitFunc: func(r *http.Request) (limiter.Limit, error) {
			if r.Header.Get("X-Tenant") == "suspended" {
				return limiter.PerHour(0), nil
			}
			return limiter.PerHour(9), nil
		}}
	client := httplimit.ClientIPFrom(httplimit.ClientIPConfig{Header: "X-Forwarded-For", TrustedHops: 1})
	banned := httplimit.Rule{Name: "banned", Key: client, Limit: limiter.PerHour(0), Private: true,
		When: httplimit.OnlyFrom(client, netip.MustParsePrefix("198.51.100.0/24"))}
	open := byIP("open", limiter.PerHour(0))
	open.Failure = httplimit.FailOpen
	return []scenario{{
		name:   "suspended tenant",
		around: limits(tenant),
		script: `
			GET /items/7
			> X-Tenant: suspended
			take /tenant suspended 1 -> refused
			429 quota-exceeded [tenant]
			RateLimit-Policy: "tenant";q=0;w=3600
			RateLimit: "tenant";r=0
			Cache-Control: no-store

			GET /items/7
			> X-Tenant: acme
			take /tenant acme 1
			200 item 7
			RateLimit-Policy: "tenant";q=9;w=3600
			RateLimit: "tenant";r=8;t=3601`,
	}, {
		name:   "deny list",
		around: limits(banned),
		script: `
			GET /items/7
			> X-Forwarded-For: 192.0.2.7, 198.51.100.7
			take /banned 198.51.100.7 1 -> refused
			429 quota-exceeded []
			Cache-Control: no-store

			GET /items/7
			> X-Forwarded-For: 198.51.100.7, 192.0.2.7
			200 item 7`,
	}, {
		name:   "limit of 0, store down",
		around: limits(open),
		down:   true,
		script: `
			GET /items/7
			take /open 127.0.0.1 1 -> undecided
			429 quota-exceeded [open]
			RateLimit-Policy: "open";q=0;w=3600
			RateLimit: "open";r=0
			Cache-Control: no-store`,
	}}
}
