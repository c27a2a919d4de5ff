package frameworks_test

import (
	"context"
	"fmt"
	"net/http"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// notes is an Observer that writes down what it is told, between what the store is asked and what the handler does:
// "observed GET /items/7 429: ip refused by store 127.0.0.1".
type notes struct{ store *recorder }

func (n notes) Observe(ctx context.Context, o *httplimit.Observation) {
	line := fmt.Sprintf("observed %s %s %d:", o.Request.Method(), o.Request.HTTP().URL.Path, o.Status)
	for _, r := range o.Rules {
		line += fmt.Sprintf(" %s %v by %v %s", r.Rule, r.Result, r.Source, r.Key)
		if r.NoKey {
			line += " (no key)"
		}
	}
	if ctx != o.Request.Context() {
		line += " with another context than the request's"
	}
	if asked := len(o.Rules) > 0; asked != (o.Store > 0) {
		line += fmt.Sprintf(" with %v as the store's time", o.Store)
	}
	n.store.note(line)
}

// observing are about what an Observer is told: once a request, before its handler runs.
func observing() []scenario {
	shadow, secret := byIP("shadow", limiter.PerHour(1)), byIP("secret", limiter.PerHour(2))
	shadow.Shadow, secret.Private = true, true
	user := httplimit.Rule{Name: "user", Key: httplimit.Header("X-User"), Limit: limiter.PerHour(1)}
	counted := byIP("counted", limiter.PerHour(2))
	counted.CountStatus = func(status int) bool { return status == 401 }
	never := byIP("never", limiter.PerHour(1))
	never.When = func(*http.Request) bool { return false }
	open, closed, local := byIP(
		"open",
		limiter.PerHour(1),
	), byIP(
		"closed",
		limiter.PerHour(1),
	), byIP(
		"local",
		limiter.PerHour(1),
	)
	open.Failure, closed.Failure = httplimit.FailOpen, httplimit.FailClosed
	return []scenario{{
		name:     "observed: several rules",
		observed: true,
		around:   []httplimit.Config{{Headers: httplimit.NoHeaders, Rules: []httplimit.Rule{shadow, secret}}},
		script: `
			GET /items/7
			shadow /shadow 127.0.0.1 1, take /secret 127.0.0.1 1
			observed GET /items/7 0: shadow allowed by store 127.0.0.1 secret allowed by store 127.0.0.1
			200 item 7

			GET /open
			shadow /shadow 127.0.0.1 1, take /secret 127.0.0.1 1
			observed GET /open 0: shadow shadow_refused by store 127.0.0.1 secret allowed by store 127.0.0.1
			200 open

			GET /items/7
			shadow /shadow 127.0.0.1 1, take /secret 127.0.0.1 1 -> refused
			observed GET /items/7 429: shadow shadow_refused by store 127.0.0.1 secret refused by store 127.0.0.1
			429 quota-exceeded []
			Retry-After: 3601
			Cache-Control: no-store`,
	}, {
		name:     "observed: identities",
		observed: true,
		around:   []httplimit.Config{{Headers: httplimit.NoHeaders, Rules: []httplimit.Rule{user}}},
		script: `
			GET /items/7
			> X-User: ann
			take /user ann 1
			observed GET /items/7 0: user allowed by store ann
			200 item 7

			GET /items/7
			take /user %N:127.0.0.1 1
			observed GET /items/7 0: user allowed by store %N:127.0.0.1 (no key)
			200 item 7

			GET /items/7
			> X-User: ann
			> X-User: bob
			take /user %M 1
			observed GET /items/7 0: user allowed by store %M (no key)
			200 item 7`,
	}, {
		name:     "observed: two layers",
		observed: true,
		around:   []httplimit.Config{{Headers: httplimit.NoHeaders, Rules: []httplimit.Rule{counted}}},
		onRoute:  []httplimit.Config{{Headers: httplimit.NoHeaders, Rules: []httplimit.Rule{user}}},
		script: `
			GET /items/401
			> X-User: ann
			take /counted 127.0.0.1 1
			observed GET /items/401 0: counted allowed by store 127.0.0.1
			take /user ann 1
			observed GET /items/401 0: user allowed by store ann
			settled with 401
			401

			GET /items/401
			> X-User: ann
			take /counted 127.0.0.1 1
			observed GET /items/401 0: counted allowed by store 127.0.0.1
			take /user ann 1 -> refused
			observed GET /items/401 429: user refused by store ann
			settled with 429
			take /counted 127.0.0.1 -1
			429 quota-exceeded [user]
			Retry-After: 3601
			Cache-Control: no-store`,
	}, {
		name:     "observed: no rule applies",
		observed: true,
		around:   []httplimit.Config{{Headers: httplimit.NoHeaders, Rules: []httplimit.Rule{never}}},
		script: `
			GET /items/7
			observed GET /items/7 0:
			200 item 7`,
	}, {
		name:     "observed: store down, open",
		observed: true,
		down:     true,
		around:   []httplimit.Config{{Headers: httplimit.NoHeaders, Rules: []httplimit.Rule{open, local}}},
		script: `
			GET /items/7
			take /open 127.0.0.1 1, take /local 127.0.0.1 1 -> undecided
			observed GET /items/7 0: open open by none 127.0.0.1 local allowed by local 127.0.0.1
			200 item 7`,
	}, {
		name:     "observed: store down, closed",
		observed: true,
		down:     true,
		around:   []httplimit.Config{{Headers: httplimit.NoHeaders, Rules: []httplimit.Rule{closed, open, local}}},
		script: `
			GET /items/7
			take /closed 127.0.0.1 1, take /open 127.0.0.1 1, take /local 127.0.0.1 1 -> undecided
			observed GET /items/7 503: closed closed by none 127.0.0.1 open open by none 127.0.0.1 local unjudged by none 127.0.0.1
			503 temporary-reduced-capacity [closed]
			Retry-After: 1
			Cache-Control: no-store`,
	}}
}
