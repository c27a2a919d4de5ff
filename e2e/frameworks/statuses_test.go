package frameworks_test

import (
	"context"
	"net/http"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// statuses are about rules that ask how the request ended.
func statuses() []scenario {
	failures := byIP("login", limiter.PerHour(2))
	failures.CountStatus = func(status int) bool { return status >= 400 }
	login := []httplimit.Config{{Headers: httplimit.NoHeaders, Expose: true, Rules: []httplimit.Rule{failures}}}
	tokens := byIP("tokens", limiter.PerHour(50))
	tokens.CountStatus = func(status int) bool { return status != http.StatusOK }
	return []scenario{{
		name:   "only failures count",
		around: login,
		script: `
			GET /items/200
			take /login 127.0.0.1 1
			settled with 200
			take /login 127.0.0.1 -1
			200

			GET /items/304
			take /login 127.0.0.1 1
			settled with 304
			take /login 127.0.0.1 -1
			304

			GET /items/204
			take /login 127.0.0.1 1
			settled with 204
			take /login 127.0.0.1 -1
			204

			HEAD /items/7
			take /login 127.0.0.1 1
			settled with 200
			take /login 127.0.0.1 -1
			200

			GET /items/401
			take /login 127.0.0.1 1
			settled with 401
			401

			GET /items/7
			take /login 127.0.0.1 1
			settled with 200
			take /login 127.0.0.1 -1
			200 item 7

			GET /items/403
			take /login 127.0.0.1 1
			settled with 403
			403

			GET /items/7
			take /login 127.0.0.1 1 -> refused
			429 quota-exceeded [login]
			Retry-After: 3601
			Cache-Control: no-store`,
	}, {
		name:    "failures in the framework's terms",
		onRoute: login,
		script: `
			GET /items/fail-401
			take /login 127.0.0.1 1
			settled with 401
			401

			GET /items/fail-409
			take /login 127.0.0.1 1
			settled with 409
			409`,
	}, {
		name:   "errors and panics",
		around: login,
		script: `
			GET /items/fail
			take /login 127.0.0.1 1
			settled with 500
			500

			GET /items/panic
			take /login 127.0.0.1 1
			settled with 500
			500

			GET /items/7
			take /login 127.0.0.1 1 -> refused
			429 quota-exceeded [login]
			Retry-After: 3601
			Cache-Control: no-store`,
	}, {
		name:   "no such route",
		around: login,
		script: `
			GET /none
			take /login 127.0.0.1 1
			settled with 404
			404`,
	}, {
		name:   "a handler that writes nothing",
		around: login,
		item:   func(context.Context, string) reply { return reply{} },
		script: `
			GET /items/7
			take /login 127.0.0.1 1
			settled with 200
			take /login 127.0.0.1 -1
			200`,
	}, {
		name:   "what was spent later is refunded too",
		around: []httplimit.Config{{Headers: httplimit.NoHeaders, Expose: true, Rules: []httplimit.Rule{tokens}}},
		item:   spending,
		script: `
			GET /items/30
			take /tokens 127.0.0.1 1
			force /tokens 127.0.0.1 30
			settled with 200
			take /tokens 127.0.0.1 -30, take /tokens 127.0.0.1 -1
			200 tokens:19/50`,
	}, {
		name:   "client leaves before the decision",
		around: login,
		leaves: whileDeciding,
		script: `
			GET /items/401
			take /login 127.0.0.1 1
			settled with 401
			gone`,
	}, {
		name:   "client leaves before the answer",
		around: login,
		item:   func(context.Context, string) reply { return reply{} },
		leaves: whileHandling,
		script: `
			GET /items/7
			take /login 127.0.0.1 1
			gone`,
	}, {
		name:   "client leaves, and the handler answers all the same",
		around: login,
		leaves: whileHandling,
		script: `
			GET /items/401
			take /login 127.0.0.1 1
			settled with 401
			gone`,
	}}
}
