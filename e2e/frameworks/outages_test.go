package frameworks_test

import (
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// year is the window of what is counted on the real clock: it has no boundary while this runs.
const year = 365 * 24 * time.Hour

// outages are about a store that cannot decide.
func outages() []scenario {
	rule := func(name string, failure httplimit.FailurePolicy) httplimit.Rule {
		return httplimit.Rule{Name: name, Key: httplimit.ClientIP(), Limit: limiter.Per(2, year), Failure: failure}
	}
	shared := func(rules ...httplimit.Rule) []httplimit.Config {
		return []httplimit.Config{{Instances: 2, Rules: rules}}
	}
	counted := rule("login", httplimit.FailLocal)
	counted.CountStatus = func(status int) bool { return status == 401 }
	return []scenario{{
		name:   "store down, fail local",
		around: shared(rule("ip", httplimit.FailLocal)),
		down:   true,
		masked: true,
		script: `
			GET /items/7
			take /ip 127.0.0.1 1 -> undecided
			200 item 7
			RateLimit-Policy: "ip";q=2;w=31536000
			RateLimit: "ip";r=0;t=?

			GET /items/7
			take /ip 127.0.0.1 1 -> undecided
			429 quota-exceeded [ip]
			RateLimit-Policy: "ip";q=2;w=31536000
			RateLimit: "ip";r=0;t=?
			Retry-After: ?
			Cache-Control: no-store`,
	}, {
		name:   "store down, fail open",
		around: shared(rule("ip", httplimit.FailOpen)),
		down:   true,
		script: `
			GET /items/7
			take /ip 127.0.0.1 1 -> undecided
			200 item 7`,
	}, {
		name:   "store down, fail closed",
		around: shared(rule("ip", httplimit.FailClosed)),
		down:   true,
		script: `
			GET /items/7
			take /ip 127.0.0.1 1 -> undecided
			503 temporary-reduced-capacity [ip]
			Retry-After: 1
			Cache-Control: no-store

			HEAD /items/7
			take /ip 127.0.0.1 1 -> undecided
			503
			Retry-After: 1
			Cache-Control: no-store`,
	}, {
		name: "store down, policies of all kinds",
		around: shared(rule("local", httplimit.FailLocal), rule("open", httplimit.FailOpen),
			rule("closed", httplimit.FailClosed)),
		down: true,
		script: `
			GET /items/7
			take /local 127.0.0.1 1, take /open 127.0.0.1 1, take /closed 127.0.0.1 1 -> undecided
			503 temporary-reduced-capacity [closed]
			Retry-After: 1
			Cache-Control: no-store`,
	}, {
		name:   "store down, own OnDeny",
		around: shared(rule("ip", httplimit.FailClosed)),
		down:   true,
		deny:   true,
		script: `
			GET /items/7
			take /ip 127.0.0.1 1 -> undecided
			503 slow down: ip
			Retry-After: 1
			Cache-Control: no-store`,
	}, {
		name:   "store down, only failures count",
		around: shared(counted),
		down:   true,
		masked: true,
		script: `
			GET /items/7
			take /login 127.0.0.1 1 -> undecided
			settled with 200
			200 item 7
			RateLimit-Policy: "login";q=2;w=31536000
			RateLimit: "login";r=0;t=?

			GET /items/7
			take /login 127.0.0.1 1 -> undecided
			settled with 200
			200 item 7
			RateLimit-Policy: "login";q=2;w=31536000
			RateLimit: "login";r=0;t=?

			GET /items/401
			take /login 127.0.0.1 1 -> undecided
			settled with 401
			401
			RateLimit-Policy: "login";q=2;w=31536000
			RateLimit: "login";r=0;t=?

			GET /items/7
			take /login 127.0.0.1 1 -> undecided
			429 quota-exceeded [login]
			RateLimit-Policy: "login";q=2;w=31536000
			RateLimit: "login";r=0;t=?
			Retry-After: ?
			Cache-Control: no-store`,
	}}
}
