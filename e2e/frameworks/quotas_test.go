package frameworks_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/e2e/servers"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
	"github.com/httplimit/httplimit/limiter/redisstore"
	"github.com/redis/go-redis/v9"
)

// quotaOf answers with what the rules of ms say of a client, and with its address.
func quotaOf(ms []*httplimit.Middleware) func(r *http.Request) reply {
	return func(r *http.Request) reply {
		var told []string
		for _, m := range ms {
			verdicts, err := m.PeekRequest(r)
			if err != nil {
				return reply{status: http.StatusServiceUnavailable, body: "not known"}
			}
			for _, v := range verdicts {
				told = append(told, fmt.Sprintf("%s %d of %v by %v", v.Rule, v.Remaining, v.Limit, v.Source))
			}
		}
		address, err := httplimit.ClientAddr(httplimit.ClientIP(), r)
		if err != nil {
			told = append(told, err.Error())
		}
		return reply{status: http.StatusOK, body: strings.Join(append(told, "from "+address.String()), ", ")}
	}
}

// byPlan limits each tenant by the plan that the request names, as authentication would find it.
func byPlan(plans ...limiter.Limit) httplimit.Rule {
	return httplimit.Rule{Name: "plan", Key: httplimit.Header("X-Tenant"), Limit: limiter.PerMinute(1), Plans: plans,
		LimitFunc: func(r *http.Request) (limiter.Limit, error) {
			if r.Header.Get("X-Tenant") == "guest" {
				return limiter.Limit{}, httplimit.ErrSkip
			}
			return limiter.ParseLimit(r.Header.Get("X-Plan"))
		}}
}

// quotas are about the plans of tenants, the page that tells them their quota, and rules that are in force for some.
func quotas() []scenario {
	secret := byIP("secret", limiter.PerHour(5))
	secret.Private = true
	half := httplimit.Rule{Name: "r", Key: httplimit.Header("X-User"), Limit: limiter.PerHour(1), Percent: 50}
	closed := half
	closed.Failure = httplimit.FailClosed
	return []scenario{{
		name:    "plans",
		onRoute: limits(byPlan(limiter.PerHour(2)), secret),
		script: `
			GET /items/7
			> X-Tenant: acme
			> X-Plan: 2/h
			take /plan acme 1, take /secret 127.0.0.1 1
			200 item 7
			RateLimit-Policy: "plan";q=2;w=3600
			RateLimit: "plan";r=1;t=3601

			GET /quota
			> X-Tenant: acme
			> X-Plan: 2/h
			peek /plan acme 1
			200 plan 1 of 2/h by store, from 127.0.0.1

			GET /quota
			> X-Tenant: acme
			> X-Plan: nonsense
			peek /plan acme 1
			200 plan 1 of 1/m by store, from 127.0.0.1

			GET /quota
			> X-Tenant: guest
			200 from 127.0.0.1

			GET /quota
			> X-Tenant: acme
			> X-Tenant: umbrella
			> X-Plan: 2/h
			peek /plan %M 1
			200 plan 2 of 2/h by store, from 127.0.0.1

			OPTIONS /quota
			> Origin: https://app.example
			> Access-Control-Request-Method: POST
			> X-Tenant: acme
			> X-Plan: 2/h
			peek /plan %P:acme 1
			200 plan 2 of 2/h by store, from 127.0.0.1`,
	}, {
		name:    "quota, store down",
		onRoute: limits(byPlan(limiter.PerHour(2)), secret),
		down:    true,
		script: `
			GET /quota
			> X-Tenant: acme
			> X-Plan: 2/h
			peek /plan acme 1 -> undecided
			200 plan 2 of 2/h by local, from 127.0.0.1`,
	}, {
		name:    "quota, store down, closed",
		onRoute: limits(closed),
		down:    true,
		script: `
			GET /quota
			> X-User: user8
			peek /r user8 1 -> undecided
			503

			GET /quota
			> X-User: user0
			peek /r user0 1 -> undecided
			200 r 0 of 1/h by none, from 127.0.0.1`,
	}, {
		name:    "in force for some",
		onRoute: limits(half, byIP("ip", limiter.PerHour(9))),
		script: `
			GET /items/7
			> X-User: user8
			take /r user8 1, take /ip 127.0.0.1 1
			200 item 7
			RateLimit-Policy: "r";q=1;w=3600, "ip";q=9;w=3600
			RateLimit: "r";r=0;t=3601, "ip";r=8;t=3601

			GET /items/7
			> X-User: user8
			take /r user8 1, take /ip 127.0.0.1 1 -> refused
			429 quota-exceeded [r]
			RateLimit-Policy: "r";q=1;w=3600, "ip";q=9;w=3600
			RateLimit: "r";r=0;t=3601
			Retry-After: 3601
			Cache-Control: no-store

			GET /items/7
			> X-User: user0
			shadow /r user0 1, take /ip 127.0.0.1 1
			200 item 7
			RateLimit-Policy: "ip";q=9;w=3600
			RateLimit: "ip";r=7;t=5401

			GET /items/7
			> X-User: user0
			shadow /r user0 1, take /ip 127.0.0.1 1
			200 item 7
			RateLimit-Policy: "ip";q=9;w=3600
			RateLimit: "ip";r=6;t=6001

			OPTIONS /items/7
			> X-User: user0
			> Origin: https://app.example
			> Access-Control-Request-Method: POST
			shadow /r %P:user0 1, take /ip %P:127.0.0.1 1
			200 item 7
			RateLimit-Policy: "ip";q=9;w=3600
			RateLimit: "ip";r=8;t=3601`,
	}, {
		name:    "in force for some, store down",
		onRoute: limits(closed),
		down:    true,
		script: `
			GET /items/7
			> X-User: user8
			take /r user8 1 -> undecided
			503 temporary-reduced-capacity [r]
			Retry-After: 1
			Cache-Control: no-store

			GET /items/7
			> X-User: user0
			shadow /r user0 1 -> undecided
			200 item 7`,
	}}
}

// TestOperatorsSeeAndFreeEveryPlan: a back office that serves no requests shows the customer's numbers and frees it, in
// every framework, in memory and in Redis.
func TestOperatorsSeeAndFreeEveryPlan(t *testing.T) {
	memory, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(&redis.Options{Addr: servers.Redis(t).Addr(), ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	// A time-out that only a broken store reaches.
	inRedis, err := redisstore.New(client, redisstore.Config{Timeout: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	plans := []limiter.Limit{limiter.Per(2, year), {Requests: 2, Window: year, Algorithm: limiter.SlidingLog},
		{Requests: 2, Window: year, Algorithm: limiter.TokenBucket}}
	for name, store := range map[string]limiter.Store{"memory": memory, "Redis": inRedis} {
		for i, f := range frameworks() {
			t.Run(name+"/"+f.name, func(t *testing.T) {
				cfg := httplimit.Config{
					Store:     store,
					Namespace: fmt.Sprint("framework", i),
					Rules:     []httplimit.Rule{byPlan(plans...)},
				}
				service, office := httplimit.Must(httplimit.New(cfg)), httplimit.Must(httplimit.New(cfg))
				at := listen(t, "tcp4")
				f.serve(t, at, app{onRoute: []*httplimit.Middleware{service}, item: byID, left: func() {},
					quota: quotaOf([]*httplimit.Middleware{service})})
				client := dial(t, at)
				ask := func(path string, plan limiter.Limit) (int, string) {
					r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, host+path, nil)
					if err != nil {
						t.Fatal(err)
					}
					r.Header.Set("X-Tenant", "acme")
					r.Header.Set("X-Plan", plan.String())
					answer, body, err := send(client, r)
					if err != nil {
						t.Fatal(err)
					}
					return answer.StatusCode, body
				}
				for _, plan := range plans {
					for i, want := range []int{200, 200, 429} {
						if got, _ := ask("/items/7", plan); got != want {
							t.Fatalf("request %d under %v: got %d, want %d", i+1, plan, got, want)
						}
					}
					want := fmt.Sprintf("plan 0 of %v by ", plan)
					if _, page := ask("/quota", plan); !strings.HasPrefix(page, want) {
						t.Errorf("the page under %v: got %q, want %q and the source", plan, page, want)
					}
					if v, err := office.PeekLimit(t.Context(), "plan", plan, "acme"); err != nil || v.Remaining != 0 || v.Allowed {
						t.Errorf("PeekLimit of %v: got %+v, %v, want nothing remaining", plan, v, err)
					}
				}
				if v, err := office.Peek(t.Context(), "plan", "acme"); err != nil || v.Remaining != 1 {
					t.Errorf("Peek: got %+v, %v, want the 1 of the rule's Limit", v, err)
				}
				if err := service.Reset(t.Context(), "plan", "nobody"); err != nil {
					t.Fatal(err)
				}
				if err := office.Reset(t.Context(), "plan", "acme"); err != nil {
					t.Fatal(err)
				}
				for _, plan := range plans {
					want := fmt.Sprintf("plan 2 of %v by store", plan)
					if status, page := ask("/quota", plan); status != 200 || !strings.HasPrefix(page, want) {
						t.Errorf("the page under %v after Reset: got %d %q, want %q", plan, status, page, want)
					}
					if got, _ := ask("/items/7", plan); got != 200 {
						t.Errorf("a request under %v after Reset: got %d, want 200", plan, got)
					}
				}
			})
		}
	}
}
