package frameworks_test

import (
	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// answers are about other header styles and bodies.
func answers() []scenario {
	return []scenario{{
		name:   "HEAD",
		around: limits(byIP("ip", limiter.PerHour(1))),
		script: `
			HEAD /items/7
			take /ip 127.0.0.1 1
			200
			RateLimit-Policy: "ip";q=1;w=3600
			RateLimit: "ip";r=0;t=3601

			HEAD /items/7
			take /ip 127.0.0.1 1 -> refused
			429
			RateLimit-Policy: "ip";q=1;w=3600
			RateLimit: "ip";r=0;t=3601
			Retry-After: 3601
			Cache-Control: no-store`,
	}, {
		name:   "own OnDeny",
		around: limits(byIP("ip", limiter.PerHour(1))),
		deny:   true,
		script: `
			GET /items/7
			take /ip 127.0.0.1 1
			200 item 7
			RateLimit-Policy: "ip";q=1;w=3600
			RateLimit: "ip";r=0;t=3601

			GET /items/7
			take /ip 127.0.0.1 1 -> refused
			429 slow down: ip
			RateLimit-Policy: "ip";q=1;w=3600
			RateLimit: "ip";r=0;t=3601
			Retry-After: 3601
			Cache-Control: no-store`,
	}, {
		name: "older fields",
		around: []httplimit.Config{{Headers: httplimit.RateLimitDraft06 | httplimit.XRateLimitDelta,
			Rules: []httplimit.Rule{byIP("ip", limiter.PerHour(1))}}},
		script: `
			GET /items/7
			take /ip 127.0.0.1 1
			200 item 7
			RateLimit-Policy: 1;w=3600
			RateLimit-Limit: 1
			RateLimit-Remaining: 0
			RateLimit-Reset: 3601
			X-RateLimit-Limit: 1
			X-RateLimit-Remaining: 0
			X-RateLimit-Reset: 3601

			GET /items/7
			take /ip 127.0.0.1 1 -> refused
			429 quota-exceeded [ip]
			RateLimit-Policy: 1;w=3600
			RateLimit-Limit: 1
			RateLimit-Remaining: 0
			RateLimit-Reset: 3601
			X-RateLimit-Limit: 1
			X-RateLimit-Remaining: 0
			X-RateLimit-Reset: 3601
			Retry-After: 3601
			Cache-Control: no-store`,
	}, {
		name:   "no fields",
		around: []httplimit.Config{{Headers: httplimit.NoHeaders, Rules: []httplimit.Rule{byIP("ip", limiter.PerHour(1))}}},
		script: `
			GET /items/7
			take /ip 127.0.0.1 1
			200 item 7

			GET /items/7
			take /ip 127.0.0.1 1 -> refused
			429 quota-exceeded [ip]
			Retry-After: 3601
			Cache-Control: no-store`,
	}}
}
