package frameworks_test

import (
	"net/netip"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// identities are about who is counted: the answers carry no fields, so that only the keys are left to see.
func identities() []scenario {
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	forwarded := httplimit.ClientIPFrom(httplimit.ClientIPConfig{Header: "Forwarded", TrustedProxies: loopback})
	cloud := httplimit.ClientIPFrom(httplimit.ClientIPConfig{Header: "CF-Connecting-IP", TrustedProxies: loopback})
	socket := httplimit.ClientIPFrom(httplimit.ClientIPConfig{Header: "X-Forwarded-For", TrustUnixSocket: true})
	return []scenario{{
		name:   "spoofed headers",
		around: keyed(httplimit.ClientIP()),
		script: `
			GET /items/7
			> X-Forwarded-For: 192.0.2.1
			> X-Real-Ip: 192.0.2.2
			> Forwarded: for=192.0.2.3
			> Cf-Connecting-Ip: 192.0.2.4
			> True-Client-Ip: 192.0.2.5
			take /who 127.0.0.1 1
			200 item 7`,
	}, {
		name:   "behind a proxy",
		around: keyed(httplimit.ClientIP(loopback...)),
		script: `
			GET /items/7
			> X-Forwarded-For: 192.0.2.1, 198.51.100.7
			take /who 198.51.100.7 1
			200 item 7

			GET /items/7
			> X-Forwarded-For: 192.0.2.1
			> X-Forwarded-For: 198.51.100.7, 127.0.0.9
			take /who 198.51.100.7 1
			200 item 7

			GET /items/7
			> X-Forwarded-For: 198.51.100.7
			> X-Forwarded-For: not an address
			take /who 127.0.0.1 1
			200 item 7

			GET /items/7
			> X-Forwarded-For: 192.0.2.1
			> x-forwarded-for: 198.51.100.7
			take /who 198.51.100.7 1
			200 item 7

			GET /items/7
			> X-Real-Ip: 192.0.2.2
			take /who 127.0.0.1 1
			200 item 7

			GET /items/7
			> X-Forwarded-For: 192.0.2.1, 2001:db8:1:2:3:4:5:6
			take /who 2001:db8:1:2::/64 1
			200 item 7

			GET /items/7
			> X-Forwarded-For: ::ffff:198.51.100.7
			take /who 198.51.100.7 1
			200 item 7`,
	}, {
		name:   "other headers of proxies",
		around: keyed(httplimit.Compose(forwarded, cloud)),
		script: `
			GET /items/7
			> Forwarded: for=192.0.2.1, for="[2001:db8::7]:80";host="x, for=192.0.2.2"
			> Cf-Connecting-Ip: 198.51.100.7
			take /who 2001%3Adb8%3A%3A%2F64:198.51.100.7 1
			200 item 7

			GET /items/7
			> Forwarded: for=", for=198.51.100.8
			> Cf-Connecting-Ip: 198.51.100.7
			take /who 198.51.100.8:198.51.100.7 1
			200 item 7

			GET /items/7
			> Forwarded: for=198.51.100.8
			> Cf-Connecting-Ip: 192.0.2.3
			> Cf-Connecting-Ip: 198.51.100.7
			take /who %M 1
			200 item 7`,
	}, {
		name:    "IPv6",
		network: "tcp6",
		around:  keyed(httplimit.ClientIP()),
		script: `
			GET /items/7
			take /who ::/64 1
			200 item 7`,
	}, {
		name:    "IPv6 proxy",
		network: "tcp6",
		around:  keyed(httplimit.ClientIP(loopback...)),
		script: `
			GET /items/7
			> X-Forwarded-For: 2001:db8:1:2:3:4:5:6, ::1
			take /who 2001:db8:1:2::/64 1
			200 item 7`,
	}, {
		name:    "IPv4 on a socket for both",
		network: "tcp",
		around:  keyed(httplimit.ClientIP()),
		script: `
			GET /items/7
			take /who 127.0.0.1 1
			200 item 7`,
	}, {
		name:    "unix socket",
		network: "unix",
		around:  keyed(httplimit.ClientIP()),
		script: `
			GET /items/7
			> X-Forwarded-For: 192.0.2.1
			take /who %U 1
			200 item 7`,
	}, {
		name:    "proxy on a unix socket",
		network: "unix",
		around:  keyed(socket),
		script: `
			GET /items/7
			> X-Forwarded-For: 192.0.2.1
			take /who 192.0.2.1 1
			200 item 7

			GET /items/7
			take /who %U 1
			200 item 7`,
	}, {
		name:   "credentials",
		around: keyed(httplimit.FirstOf(httplimit.BearerToken(), httplimit.APIKey("X-Api-Key"), httplimit.Cookie("session"))),
		script: `
			GET /items/7
			> Authorization: bearer s3cret
			take /who #yxI9tvDa9RDr-1MN-I1ovg 1
			200 item 7

			GET /items/7
			> X-Api-Key: s3cret
			take /who #Miu7xPbTayoM1Sgy3RJXHA 1
			200 item 7

			GET /items/7
			> Cookie: a=1; session=s3cret
			take /who #rZwodE1ToGeQzsQFGJnAng 1
			200 item 7

			GET /items/7
			> Cookie: a=1
			> Cookie: session="s3cret"
			take /who #rZwodE1ToGeQzsQFGJnAng 1
			200 item 7

			GET /items/7
			> X-Api-Key:
			take /who %N:127.0.0.1 1
			200 item 7`,
	}, {
		name:   "names",
		around: keyed(httplimit.FirstOf(httplimit.BasicUser(), httplimit.Header("X-User"))),
		script: `
			GET /items/7
			> Authorization: Basic YWRhOnMzY3JldA==
			take /who %K1:ada 1
			200 item 7

			GET /items/7
			> x-user: ada lovelace
			take /who %K2:ada%20lovelace 1
			200 item 7`,
	}, {
		name:   "credentials that are given twice",
		around: keyed(httplimit.FirstOf(httplimit.BearerToken(), httplimit.APIKey("X-Api-Key"), httplimit.Cookie("session"))),
		script: `
			GET /items/7
			> Authorization: Bearer one
			> Authorization: Bearer two
			take /who %M 1
			200 item 7

			GET /items/7
			> X-Api-Key: one
			> X-Api-Key: two
			take /who %M 1
			200 item 7

			GET /items/7
			> X-Api-Key: one
			> x-api-key: two
			take /who %M 1
			200 item 7

			GET /items/7
			> X-Api-Key: s3cret
			> X-Api-Key: s3cret
			take /who #Miu7xPbTayoM1Sgy3RJXHA 1
			200 item 7

			GET /items/7
			> Cookie: session=s3cret
			> Cookie: session=two
			take /who #rZwodE1ToGeQzsQFGJnAng 1
			200 item 7`,
	}}
}

func keyed(key httplimit.Key) []httplimit.Config {
	return []httplimit.Config{{Headers: httplimit.NoHeaders,
		Rules: []httplimit.Rule{{Name: "who", Key: key, Limit: limiter.PerHour(99)}}}}
}
