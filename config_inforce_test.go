package httplimit_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// TestConfigInForce: what was given, with the store that counts and the limits that hold.
func TestConfigInForce(t *testing.T) {
	if got := new(httplimit.Middleware).Config(); len(got.Rules) != 0 || got.Store != nil {
		t.Errorf("the zero Middleware has %+v, want the zero Config", got)
	}
	uploads := httplimit.Rule{
		Name: "uploads", Key: httplimit.ClientIP(), InFlight: true, Limit: limiter.Per(3, time.Minute),
		Plans: []limiter.Limit{limiter.Per(9, time.Minute)},
	}
	given := httplimit.Config{
		Namespace: "shop", KeySecret: []byte("0123456789abcdef"), Instances: 3,
		Rules: []httplimit.Rule{uploads, ip(limiter.PerDay(2))},
	}
	m := mustNew(t, given)
	got := m.Config()
	if got.Namespace != "shop" || got.Instances != 3 || string(got.KeySecret) != "0123456789abcdef" {
		t.Errorf("got %q, %d and %q, want what was given", got.Namespace, got.Instances, got.KeySecret)
	}
	if got.Store == nil {
		t.Error("there is no Store, want the one that was made")
	}
	if l := got.Rules[0].Limit; l.Algorithm != limiter.StrictWindow || got.Rules[1].Limit != limiter.PerDay(2) {
		t.Errorf("got the limits %v and %v, want a strict window and 2/d", l, got.Rules[1].Limit)
	}

	got.Rules[0].Plans[0], got.Rules[1].Name, got.KeySecret[0] = limiter.PerDay(1), "other", 'x'
	again := m.Config()
	if again.Rules[0].Plans[0].Requests != 9 || again.Rules[1].Name != "ip" || again.KeySecret[0] != '0' {
		t.Errorf("a change of what Config returned changed the configuration: %+v", again)
	}
}

// TestConfigGoesBackToReconfigure: one field is changed, and the counters go on.
func TestConfigGoesBackToReconfigure(t *testing.T) {
	m := mustNew(t, httplimit.Config{
		KeySecret: []byte("0123456789abcdef"), Rules: []httplimit.Rule{ip(limiter.PerDay(2))},
	})
	for range 2 {
		if status := serve(m, "192.0.2.7:1").Code; status != http.StatusOK {
			t.Fatalf("got %d, want 200", status)
		}
	}
	cfg := m.Config()
	cfg.Rules[0].Limit = limiter.PerDay(3)
	if err := m.Reconfigure(cfg); err != nil {
		t.Fatal(err)
	}
	if got := m.Config().Rules[0].Limit; got != limiter.PerDay(3) {
		t.Errorf("got %v, want the new limit", got)
	}
	v, err := m.Allow(context.Background(), "ip", "192.0.2.7")
	if err != nil || !v.Allowed || v.Remaining != 0 {
		t.Errorf("got %+v, %v, want the last of three units", v, err)
	}
}
