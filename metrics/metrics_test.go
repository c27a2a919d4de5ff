package metrics_test

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
	"github.com/httplimit/httplimit/limiter/storekit"
	"github.com/httplimit/httplimit/metrics"
)

func TestNothingYet(t *testing.T) {
	c := metrics.New()
	c.Watch(nil, new(httplimit.Middleware))
	s := c.Snapshot()
	if s.Requests != (metrics.Requests{}) || len(s.Rules) != 0 || len(s.Stores) != 0 || s.StoreOK.Count() != 0 {
		t.Errorf("got %+v, want nothing", s)
	}
	newMiddleware(t, c, httplimit.Config{Namespace: "shop", Rules: []httplimit.Rule{
		byHeader("plain", "X", limiter.PerDay(2)),
		{Name: "part", Key: httplimit.ClientIP(), Limit: limiter.PerDay(2), Percent: 10},
		{Name: "shadow", Key: httplimit.ClientIP(), Limit: limiter.PerDay(2), Shadow: true},
	}})
	s = c.Snapshot()
	checkDecisions(t, find(t, s, "shop", "plain"), "allowed by store: 0", "refused by store: 0")
	checkDecisions(t, find(t, s, "shop", "shadow"), "allowed by store: 0", "shadow_refused by store: 0")
	checkDecisions(t, find(t, s, "shop", "part"),
		"allowed by store: 0", "refused by store: 0", "shadow_refused by store: 0")
}

// TestZeroCounters: those that New has not made count nothing, and break no request.
func TestZeroCounters(t *testing.T) {
	for name, c := range map[string]*metrics.Counters{"zero": {}, "nil": nil} {
		t.Run(name, func(t *testing.T) {
			c.Watch(newMiddleware(t, metrics.New(), httplimit.Config{Rules: []httplimit.Rule{
				byHeader("a", "X", limiter.PerDay(2)),
			}}))
			c.Observe(t.Context(), &httplimit.Observation{Rules: make([]httplimit.Observed, 1)})
			c.ObserveCost(t.Context(), httplimit.CostChange{Rule: "a", Units: 1})
			if s := c.Snapshot(); len(s.Rules) != 0 || len(s.Stores) != 0 || s.Requests != (metrics.Requests{}) {
				t.Errorf("got %+v, want nothing", s)
			}
		})
	}
}

func TestCounts(t *testing.T) {
	c := metrics.New()
	twice := byHeader("twice", "X", limiter.PerDay(10))
	twice.Cost = func(r *http.Request) (int64, error) { return int64(len(r.Header.Get("Cost"))), nil }
	never := byHeader("never", "X", limiter.PerDay(1))
	never.When = func(*http.Request) bool { return false }
	h := newMiddleware(t, c, httplimit.Config{Rules: []httplimit.Rule{
		byHeader("login", "X", limiter.PerDay(3)), twice, never,
	}}).Handler(http.HandlerFunc(ok))
	for _, cost := range []string{"xxx", "xxxxxx", "", "x", "x"} {
		send(h, "X", "ann", "Cost", cost)
	}
	s := c.Snapshot()
	if want := (metrics.Requests{Passed: 3, Refused: 2}); s.Requests != want {
		t.Errorf("requests: got %+v, want %+v", s.Requests, want)
	}
	checkDecisions(t, find(t, s, "", "login"), "allowed by store: 3", "refused by store: 2")
	checkDecisions(t, find(t, s, "", "twice"), "allowed by store: 5", "refused by store: 0")
	if got, want := costs(find(t, s, "", "twice")), "allowed: 9 - 0, refused: 0 - 0"; got != want {
		t.Errorf("costs: got %q, want %q", got, want)
	}
	if got := find(t, s, "", "login").NearLimit; got != 1 { // the third, after which nothing is left
		t.Errorf("near limit: got %d, want 1", got)
	}
	if got := find(t, s, "", "twice").NearLimit; got != 4 { // of 10, with 1, 1, 0 and 0 left
		t.Errorf("near limit: got %d, want 4", got)
	}
	checkDecisions(t, find(t, s, "", "never"), "allowed by store: 0", "refused by store: 0")
}

// TestRefunds: what Spend adds is a cost, and what comes back is refunded, by the result that the request had.
func TestRefunds(t *testing.T) {
	c := metrics.New()
	failed := byHeader("failed", "X", limiter.PerDay(100))
	failed.CountStatus = func(status int) bool { return status >= 400 }
	places := httplimit.Rule{
		Name: "places", Key: httplimit.Everyone(), Limit: limiter.Per(5, time.Minute), InFlight: true,
	}
	h := newMiddleware(t, c, httplimit.Config{
		Expose: true, Rules: []httplimit.Rule{failed, places, byHeader("tokens", "X", limiter.PerDay(100))},
	}).Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		for _, n := range []int64{9, -4} {
			if err := httplimit.Spend(r.Context(), "tokens", n); err != nil {
				t.Error(err)
			}
		}
	}))
	for range 3 {
		send(h, "X", "ann")
	}
	s := c.Snapshot()
	for name, want := range map[string]string{
		"failed": "allowed: 3 - 3, refused: 0 - 0",
		"places": "allowed: 3 - 3, refused: 0 - 0",
		"tokens": "allowed: 30 - 12, refused: 0 - 0",
	} {
		if got := costs(find(t, s, "", name)); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// TestAllowIsNoRequest, but a decision, and a call of the store.
func TestAllowIsNoRequest(t *testing.T) {
	c := metrics.New()
	store := storekit.WithTimeout(remote{newMemory(t, memstore.Config{})}, time.Minute)
	m := newMiddleware(t, c, httplimit.Config{
		Store: store, Rules: []httplimit.Rule{byHeader("a", "X", limiter.PerDay(1))},
	})
	for range 2 {
		if _, err := m.Allow(t.Context(), "a", "ann"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.Peek(t.Context(), "a", "ann"); err != nil {
		t.Fatal(err)
	}
	s := c.Snapshot()
	checkDecisions(t, find(t, s, "", "a"), "allowed by store: 1", "refused by store: 1")
	if s.Requests != (metrics.Requests{}) || s.StoreOK.Count() != 2 || s.StoreOK.Sum <= 0 {
		t.Errorf("got %+v and %+v, want no request and two calls", s.Requests, s.StoreOK)
	}
}

// remote is a memstore that httplimit takes for a server.
type remote struct{ limiter.Store }

// TestOutages: decisions without the store, its failures, and the rules that are degraded.
func TestOutages(t *testing.T) {
	c := metrics.New()
	rule := func(name string, f httplimit.FailurePolicy) httplimit.Rule {
		r := byHeader(name, name, limiter.PerDay(1))
		r.Failure, r.When = f, func(r *http.Request) bool { return r.Header.Get(name) != "" }
		return r
	}
	h := newMiddleware(t, c, httplimit.Config{Store: failing{}, Rules: []httplimit.Rule{
		rule("local", httplimit.FailLocal), rule("open", httplimit.FailOpen),
		rule("closed", httplimit.FailClosed), rule("unused", httplimit.FailOpen),
	}}).Handler(http.HandlerFunc(ok))
	for _, name := range []string{"local", "local", "open", "closed"} {
		send(h, name, "ann")
	}
	s := c.Snapshot()
	if want := (metrics.Requests{Passed: 2, Refused: 1, Unavailable: 1}); s.Requests != want {
		t.Errorf("requests: got %+v, want %+v", s.Requests, want)
	}
	if s.StoreFailed.Count() != 4 || s.StoreOK.Count() != 0 {
		t.Errorf("got %d failures and %d answers, want 4 and none", s.StoreFailed.Count(), s.StoreOK.Count())
	}
	none := []string{"allowed by store: 0", "refused by store: 0"}
	checkDecisions(t, find(t, s, "", "local"),
		"allowed by store: 0", "allowed by local: 1", "refused by store: 0", "refused by local: 1")
	checkDecisions(t, find(t, s, "", "open"), append(slices.Clone(none), "open by none: 1")...)
	checkDecisions(t, find(t, s, "", "closed"), append(slices.Clone(none), "closed by none: 1")...)
	for name, want := range map[string]metrics.Policy{
		"local": {httplimit.FailLocal, true}, "open": {httplimit.FailOpen, true},
		"closed": {httplimit.FailClosed, true}, "unused": {httplimit.FailOpen, false},
	} {
		if got := find(t, s, "", name).Policies; len(got) != 1 || got[0] != want {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
	if got := find(t, s, "", "local").NearLimit; got != 0 {
		t.Errorf("near limit: got %d, want none by this process's share", got)
	}
}

// TestReconfigure: counters live on, limits and stores are those in force.
func TestReconfigure(t *testing.T) {
	c := metrics.New()
	a, b := byHeader("a", "X", limiter.PerDay(5)), byHeader("b", "X", limiter.PerDay(5))
	a.Plans = []limiter.Limit{limiter.PerDay(50), limiter.PerDay(5)}
	m := newMiddleware(t, c, httplimit.Config{
		Store: newMemory(t, memstore.Config{Name: "first"}), Rules: []httplimit.Rule{a, b},
	})
	h := m.Handler(http.HandlerFunc(ok))
	send(h, "X", "ann")
	limits := func(name string) []limiter.Limit { return find(t, c.Snapshot(), "", name).Limits }
	if got, want := limits("a"), []limiter.Limit{limiter.PerDay(5), limiter.PerDay(50)}; !slices.Equal(got, want) {
		t.Errorf("limits: got %v, want %v", got, want)
	}
	a.Limit, a.Plans = limiter.PerDay(7), nil
	if err := m.Reconfigure(httplimit.Config{
		Observer: c, Store: newMemory(t, memstore.Config{Name: "second"}), Rules: []httplimit.Rule{a},
	}); err != nil {
		t.Fatal(err)
	}
	send(h, "X", "ann")
	if got, want := limits("a"), []limiter.Limit{limiter.PerDay(7)}; !slices.Equal(got, want) {
		t.Errorf("limits: got %v, want %v", got, want)
	}
	s := c.Snapshot()
	checkDecisions(t, find(t, s, "", "a"), "allowed by store: 2", "refused by store: 0")
	gone := find(t, s, "", "b")
	checkDecisions(t, gone, "allowed by store: 1")
	if len(gone.Limits) != 0 || len(gone.Policies) != 0 {
		t.Errorf("a rule that is gone has the limits %v and the policies %v", gone.Limits, gone.Policies)
	}
	if len(s.Stores) != 1 || s.Stores[0].Label != "second" {
		t.Errorf("stores: got %+v, want the second one", s.Stores)
	}
}

// TestCostsAreBounded: a client that chooses its cost cannot wrap a counter around.
func TestCostsAreBounded(t *testing.T) {
	c := metrics.New()
	greedy := byHeader("greedy", "X", limiter.PerDay(5))
	greedy.Cost = func(*http.Request) (int64, error) { return 1<<63 - 1, nil }
	h := newMiddleware(t, c, httplimit.Config{Rules: []httplimit.Rule{greedy}}).Handler(http.HandlerFunc(ok))
	for range 3 {
		send(h, "X", "ann")
	}
	got := find(t, c.Snapshot(), "", "greedy").Costs
	if want := uint64(3 * limiter.MaxCount); got[1].Units != want {
		t.Errorf("got %+v, want %d refused", got, want)
	}
}

// TestUnknownResults of a later httplimit are left out and harm nothing.
func TestUnknownResults(t *testing.T) {
	c := metrics.New()
	o := httplimit.Observation{Rules: []httplimit.Observed{{Verdict: httplimit.Verdict{Rule: "a"}, Result: 200}}}
	c.Observe(context.Background(), &o)
	c.ObserveCost(context.Background(), httplimit.CostChange{Rule: "a", Result: 200, Units: 1})
	if s := c.Snapshot(); len(s.Rules) != 1 || len(s.Rules[0].Decisions) != 0 || len(s.Rules[0].Costs) != 0 {
		t.Errorf("got %+v, want a rule of which nothing was counted", s.Rules)
	}
}
