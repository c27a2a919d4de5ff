package console

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
)

// keeping is a store that forgets nobody.
type keeping struct{ limiter.Store }

func (keeping) Reset(context.Context, []limiter.Charge) error { return errors.New("away") }

// A store that fails keeps nobody out of another one.
func TestResetInEachMiddleware(t *testing.T) {
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s := newSiteOf(t, httplimit.Config{
		Namespace: "shop", Store: keeping{store}, Rules: []httplimit.Rule{byAddress("address", limiter.PerDay(1))},
	})
	cfg := s.limits.Config()
	cfg.Store = nil
	other, err := httplimit.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s.Watch(other)
	if _, err := other.Allow(t.Context(), "address", "192.0.2.7"); err != nil {
		t.Fatal(err)
	}
	id := ruleID("shop", "address")
	for name, f := range map[string]func() int{
		"by key":   func() int { return s.post("api/reset.json", form("rule", id, "key", "192.0.2.7"), "alice").Code },
		"by parts": func() int { return s.post("api/reset.json", form("rule", id, "part", "192.0.2.7"), "alice").Code },
	} {
		if got := f(); got != 502 {
			t.Errorf("%s: got %d, want 502, as one store is away", name, got)
		}
		if v, err := other.Allow(t.Context(), "address", "192.0.2.7"); err != nil || !v.Allowed {
			t.Errorf("%s: got %+v, %v, want the client let in by the other Middleware", name, v, err)
		}
	}
	if acts := s.acts.list(); len(acts) != 2 || !strings.Contains(acts[0].Error, "away") {
		t.Errorf("got %+v, want both noted with the error", acts)
	}
}
