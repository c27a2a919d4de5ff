package httplimit_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

func TestReconfigureKeepsWhatWasSpent(t *testing.T) {
	m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{ip(limiter.PerDay(2))}})
	serve(m, "192.0.2.1:1")
	serve(m, "192.0.2.1:1")
	if w := serve(m, "192.0.2.1:1"); w.Code != http.StatusTooManyRequests {
		t.Fatalf("got %d, want 429", w.Code)
	}
	if err := m.Reconfigure(httplimit.Config{Rules: []httplimit.Rule{ip(limiter.PerDay(5))}}); err != nil {
		t.Fatal(err)
	}
	if got := remaining(t, m, "ip"); got != 3 {
		t.Errorf("remaining of the raised limit: got %d, want 3", got)
	}
	renamed := ip(limiter.PerDay(5))
	renamed.Name = "address"
	if err := m.Reconfigure(httplimit.Config{Rules: []httplimit.Rule{renamed}}); err != nil {
		t.Fatal(err)
	}
	if got := remaining(t, m, "address"); got != 5 {
		t.Errorf("remaining of a rule with another name: got %d, want 5", got)
	}
}

func TestABadConfigurationChangesNothing(t *testing.T) {
	m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{ip(limiter.PerDay(2))}})
	err := m.Reconfigure(httplimit.Config{Instances: -1, Rules: []httplimit.Rule{{Name: "x", Key: httplimit.Everyone()}}})
	if got, want := strings.Join(fields(err), " "), "Instances Rules[0].Limit"; got != want {
		t.Errorf("faults: got %q, want %q", got, want)
	}
	if w := serve(m, "192.0.2.1:1"); w.Header().Get("RateLimit-Policy") != `"ip";q=2;w=86400` {
		t.Errorf("policy in force: got %q, want the old one", w.Header().Get("RateLimit-Policy"))
	}
}

// TestReconfigureUnderLoad swaps between two configurations whose rules belong together: a request that saw half of
// each would be charged by one rule of each.
func TestReconfigureUnderLoad(t *testing.T) {
	pair := func(suffix string, n int64) httplimit.Config {
		return httplimit.Config{Expose: true, Rules: []httplimit.Rule{
			{Name: "a" + suffix, Key: httplimit.Everyone(), Limit: limiter.PerDay(n)},
			{Name: "total", Key: httplimit.Everyone(), Limit: limiter.PerDay(n)},
			{Name: "b" + suffix, Key: httplimit.Everyone(), Limit: limiter.PerDay(n)},
		}}
	}
	configs := []httplimit.Config{pair("1", 100_000_000), pair("2", 200_000_000)}
	m := mustNew(t, configs[0])
	var served atomic.Int64
	handler := m.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		served.Add(1)
		v := httplimit.Verdicts(r.Context())
		if len(v) != 3 || v[0].Rule[1:] != v[2].Rule[1:] || v[0].Limit != v[1].Limit || v[1].Limit != v[2].Limit {
			t.Errorf("half a configuration: %+v", v)
		}
	}))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					handler.ServeHTTP(httptest.NewRecorder(), get())
				}
			}
		})
	}
	for i := range 10_000 {
		if err := m.Reconfigure(configs[i%2]); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	wg.Wait()
	v, err := m.Peek(context.Background(), "total")
	if err != nil {
		t.Fatal(err)
	}
	if got := v.Limit.Requests - v.Remaining; got != served.Load() {
		t.Errorf("counted %d requests, served %d", got, served.Load())
	}
}

func TestDirectCalls(t *testing.T) {
	m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{
		{
			Name:  "login",
			Limit: limiter.PerDay(2),
			Key:   httplimit.KeyFunc(func(*http.Request) (string, error) { return "", httplimit.ErrSkip }),
		},
		{Name: "pair", Limit: limiter.PerDay(2), Key: httplimit.Compose(httplimit.ClientIP(), httplimit.Header("X-Tenant"))},
		{Name: "shadow", Limit: limiter.PerDay(1), Key: httplimit.Everyone(), Shadow: true},
	}})
	ctx := context.Background()
	for i, want := range []bool{true, true, false} {
		if v, err := m.Allow(ctx, "login", "alice@example.com"); err != nil || v.Allowed != want || v.Rule != "login" {
			t.Errorf("login %d: got %+v, %v, want allowed %v", i+1, v, err, want)
		}
	}
	if v, err := m.Peek(ctx, "login", "alice@example.com"); err != nil || v.Allowed || v.RetryAfter <= 0 {
		t.Errorf("Peek: got %+v, %v, want refused with a wait", v, err)
	}
	if v, err := m.Allow(ctx, "login", "bob@example.com"); err != nil || !v.Allowed {
		t.Errorf("somebody else: got %+v, %v, want allowed", v, err)
	}
	if err := m.Reset(ctx, "login", "alice@example.com"); err != nil {
		t.Fatal(err)
	}
	if v, err := m.Allow(ctx, "login", "alice@example.com"); err != nil || !v.Allowed || v.Remaining != 1 {
		t.Errorf("after Reset: got %+v, %v, want allowed with 1 remaining", v, err)
	}
	if _, err := m.Allow(ctx, "no such rule", "x"); err == nil {
		t.Error("an unknown rule: got no error")
	}
	if _, err := m.Allow(ctx, "pair", "only one part"); err == nil {
		t.Error("too few parts: got no error")
	}
	for range 3 {
		if v, err := m.Allow(ctx, "shadow"); err != nil || !v.Allowed {
			t.Errorf("a shadow rule: got %+v, %v, want allowed", v, err)
		}
	}
	if v, _ := m.Allow(ctx, "shadow"); v.RetryAfter <= 0 {
		t.Errorf("a shadow rule: got %+v, want the wait that it would have given", v)
	}
}

// TestAllowCountsWhatTheKeyFinds: what requests spend, Allow sees, so that operators need no stored key names.
func TestAllowCountsWhatTheKeyFinds(t *testing.T) {
	m := mustNew(t, httplimit.Config{KeySecret: []byte("sixteen bytes or more"), Rules: []httplimit.Rule{
		{Name: "pair", Limit: limiter.PerDay(5), Key: httplimit.Compose(httplimit.ClientIP(), httplimit.Header("X-Tenant"))},
	}})
	r := get()
	r.Header.Set("X-Tenant", "a:b c")
	serveRequest(m, r)
	if v, err := m.Peek(context.Background(), "pair", "192.0.2.1", "a:b c"); err != nil || v.Remaining != 4 {
		t.Errorf("got %+v, %v, want 4 remaining", v, err)
	}
}
