package frameworks_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// limits is what most scenarios need: one Middleware.
func limits(rules ...httplimit.Rule) []httplimit.Config {
	return []httplimit.Config{{Rules: rules}}
}

// byIP is a rule for the address of the socket peer.
func byIP(name string, limit limiter.Limit) httplimit.Rule {
	return httplimit.Rule{Name: name, Key: httplimit.ClientIP(), Limit: limit}
}

// decisions are about the decisions of rules and their header fields.
func decisions() []scenario {
	shadow, secret := byIP("shadow", limiter.PerHour(1)), byIP("secret", limiter.PerHour(1))
	shadow.Shadow, secret.Private = true, true
	return []scenario{{
		name:   "allowed and refused",
		around: limits(byIP("ip", limiter.PerHour(2))),
		script: `
			GET /items/7
			take /ip 127.0.0.1 1
			200 item 7
			RateLimit-Policy: "ip";q=2;w=3600
			RateLimit: "ip";r=1;t=3601

			GET /open
			take /ip 127.0.0.1 1
			200 open
			RateLimit-Policy: "ip";q=2;w=3600
			RateLimit: "ip";r=0;t=5401

			GET /items/7
			take /ip 127.0.0.1 1 -> refused
			429 quota-exceeded [ip]
			RateLimit-Policy: "ip";q=2;w=3600
			RateLimit: "ip";r=0;t=3601
			Retry-After: 3601
			Cache-Control: no-store

			GET /none
			take /ip 127.0.0.1 1 -> refused
			429 quota-exceeded [ip]
			RateLimit-Policy: "ip";q=2;w=3600
			RateLimit: "ip";r=0;t=3601
			Retry-After: 3601
			Cache-Control: no-store`,
	}, {
		name:   "two rules",
		around: limits(byIP("burst", limiter.PerMinute(1)), byIP("day", limiter.PerDay(5))),
		script: `
			GET /items/7
			take /burst 127.0.0.1 1, take /day 127.0.0.1 1
			200 item 7
			RateLimit-Policy: "burst";q=1;w=60, "day";q=5;w=86400
			RateLimit: "burst";r=0;t=61, "day";r=4;t=86401

			GET /items/7
			take /burst 127.0.0.1 1, take /day 127.0.0.1 1 -> refused
			429 quota-exceeded [burst]
			RateLimit-Policy: "burst";q=1;w=60, "day";q=5;w=86400
			RateLimit: "burst";r=0;t=61
			Retry-After: 61
			Cache-Control: no-store`,
	}, {
		name:   "shadow",
		around: limits(shadow, byIP("ip", limiter.PerHour(9))),
		script: `
			GET /items/7
			shadow /shadow 127.0.0.1 1, take /ip 127.0.0.1 1
			200 item 7
			RateLimit-Policy: "ip";q=9;w=3600
			RateLimit: "ip";r=8;t=3601

			GET /items/7
			shadow /shadow 127.0.0.1 1, take /ip 127.0.0.1 1
			200 item 7
			RateLimit-Policy: "ip";q=9;w=3600
			RateLimit: "ip";r=7;t=5401`,
	}, {
		name:   "private",
		around: limits(secret, byIP("ip", limiter.PerHour(9))),
		script: `
			GET /items/7
			take /secret 127.0.0.1 1, take /ip 127.0.0.1 1
			200 item 7
			RateLimit-Policy: "ip";q=9;w=3600
			RateLimit: "ip";r=8;t=3601

			GET /items/7
			take /secret 127.0.0.1 1, take /ip 127.0.0.1 1 -> refused
			429 quota-exceeded []
			RateLimit-Policy: "ip";q=9;w=3600
			Retry-After: 3601
			Cache-Control: no-store`,
	}, {
		name:   "two Middlewares on one route",
		around: []httplimit.Config{{Expose: true, Rules: []httplimit.Rule{byIP("outer", limiter.PerHour(9))}}},
		onRoute: []httplimit.Config{{Expose: true, Rules: []httplimit.Rule{byIP("middle", limiter.PerHour(5))}},
			{Expose: true, Rules: []httplimit.Rule{byIP("inner", limiter.PerHour(1))}}},
		item: func(ctx context.Context, _ string) reply { return reply{status: 200, body: verdictsOf(ctx)} },
		script: `
			GET /items/7
			take /outer 127.0.0.1 1
			take /middle 127.0.0.1 1
			take /inner 127.0.0.1 1
			200 outer:8/9 middle:4/5 inner:0/1
			RateLimit-Policy: "outer";q=9;w=3600
			RateLimit-Policy: "middle";q=5;w=3600
			RateLimit-Policy: "inner";q=1;w=3600
			RateLimit: "outer";r=8;t=3601
			RateLimit: "middle";r=4;t=3601
			RateLimit: "inner";r=0;t=3601

			GET /items/7
			take /outer 127.0.0.1 1
			take /middle 127.0.0.1 1
			take /inner 127.0.0.1 1 -> refused
			429 quota-exceeded [inner]
			RateLimit-Policy: "outer";q=9;w=3600
			RateLimit-Policy: "middle";q=5;w=3600
			RateLimit-Policy: "inner";q=1;w=3600
			RateLimit: "outer";r=7;t=5401
			RateLimit: "middle";r=3;t=5401
			RateLimit: "inner";r=0;t=3601
			Retry-After: 3601
			Cache-Control: no-store

			GET /open
			take /outer 127.0.0.1 1
			200 open
			RateLimit-Policy: "outer";q=9;w=3600
			RateLimit: "outer";r=6;t=6001`,
	}, {
		name:   "Spend",
		around: []httplimit.Config{{Expose: true, Rules: []httplimit.Rule{byIP("tokens", limiter.PerHour(10))}}},
		item:   spending,
		script: `
			GET /items/30
			take /tokens 127.0.0.1 1
			force /tokens 127.0.0.1 30
			200 tokens:0/10
			RateLimit-Policy: "tokens";q=10;w=3600
			RateLimit: "tokens";r=9;t=3601

			GET /items/7
			take /tokens 127.0.0.1 1 -> refused
			429 quota-exceeded [tokens]
			RateLimit-Policy: "tokens";q=10;w=3600
			RateLimit: "tokens";r=0;t=6039
			Retry-After: 6039
			Cache-Control: no-store`,
	}, {
		name: "costs and plans",
		around: limits(httplimit.Rule{Name: "ip", Key: httplimit.ClientIP(), Limit: limiter.PerHour(10),
			Cost:      func(r *http.Request) (int64, error) { return strconv.ParseInt(r.Header.Get("X-Cost"), 10, 64) },
			LimitFunc: func(r *http.Request) (limiter.Limit, error) { return limiter.ParseLimit(r.Header.Get("X-Plan")) },
		}),
		script: `
			GET /items/7
			> X-Cost: 3
			> X-Plan: 20/h
			take /ip 127.0.0.1 3
			200 item 7
			RateLimit-Policy: "ip";q=20;w=3600
			RateLimit: "ip";r=17;t=6001

			GET /items/7
			> X-Cost: nothing
			> X-Plan: nothing
			take /ip 127.0.0.1 1
			200 item 7
			RateLimit-Policy: "ip";q=10;w=3600
			RateLimit: "ip";r=6;t=6301

			GET /items/7
			> X-Cost: 0
			> X-Plan: 10/m fixed-window
			take /ip 127.0.0.1 0
			200 item 7
			RateLimit-Policy: "ip";q=10;w=60
			RateLimit: "ip";r=10;t=0

			GET /items/7
			> X-Cost: 11
			> X-Plan: 10/h
			take /ip 127.0.0.1 11 -> refused
			429 quota-exceeded [ip]
			RateLimit-Policy: "ip";q=10;w=3600
			RateLimit: "ip";r=6;t=6301
			Cache-Control: no-store`,
	}}
}

// verdictsOf writes the Verdicts that a handler sees on its request.
func verdictsOf(ctx context.Context) string {
	text := ""
	for _, v := range httplimit.Verdicts(ctx) {
		text += fmt.Sprintf("%s:%d/%d ", v.Rule, v.Remaining, v.Limit.Requests)
	}
	return text
}

// spending adds as many tokens as the id says.
func spending(ctx context.Context, id string) reply {
	n, _ := strconv.ParseInt(id, 10, 64)
	if err := httplimit.Spend(ctx, "tokens", n); err != nil {
		return reply{err: err}
	}
	return reply{status: 200, body: verdictsOf(ctx)}
}
