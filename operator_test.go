package httplimit_test

import (
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

func TestResetForgetsWhatThisProcessCountedToo(t *testing.T) {
	store := &scripted{err: errDown}
	m := mustNew(t, httplimit.Config{Store: store, Rules: []httplimit.Rule{ip(limiter.PerDay(5))}})
	serve(m, "192.0.2.1:1")
	if got := remaining(t, m, "ip"); got != 4 {
		t.Fatalf("remaining in this process: got %d, want 4", got)
	}
	store.fail(nil)
	if err := m.Reset(t.Context(), "ip", "192.0.2.1"); err != nil {
		t.Fatal(err)
	}
	store.fail(errDown)
	if got := remaining(t, m, "ip"); got != 5 {
		t.Errorf("remaining in this process after Reset: got %d, want 5", got)
	}
}

func TestModesOfDirectCalls(t *testing.T) {
	tests := map[string]struct {
		shadow      bool
		allow, peek limiter.Mode
	}{
		"a rule in force": {false, limiter.Enforce, limiter.Peek},
		"a shadow rule":   {true, limiter.Shadow, limiter.Peek},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			store := &scripted{}
			rule := ip(limiter.PerDay(5))
			rule.Shadow = tt.shadow
			m := mustNew(t, httplimit.Config{Store: store, Rules: []httplimit.Rule{rule}})
			if _, err := m.Allow(t.Context(), "ip", "192.0.2.1"); err != nil {
				t.Fatal(err)
			}
			if _, err := m.Peek(t.Context(), "ip", "192.0.2.1"); err != nil {
				t.Fatal(err)
			}
			asked := store.charges()
			if len(asked) != 2 || asked[0].Mode != tt.allow || asked[1].Mode != tt.peek {
				t.Errorf("charges: got %+v, want modes %d and %d", asked, tt.allow, tt.peek)
			}
		})
	}
}

// TestShadowRulesAreAlwaysAllowed: neither a full counter nor a store that is away makes a shadow rule refuse.
func TestShadowRulesAreAlwaysAllowed(t *testing.T) {
	refuses := func(c *limiter.Charge) { c.Decision = limiter.Decision{RetryAfter: time.Minute} }
	tests := map[string]struct {
		store *scripted
		wait  time.Duration
	}{
		"full":       {&scripted{answer: refuses}, time.Minute},
		"store down": {&scripted{err: errDown}, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			rule := failingRule("shadow", httplimit.FailClosed, 5)
			rule.Shadow = true
			m := mustNew(t, httplimit.Config{Store: tt.store, Rules: []httplimit.Rule{rule}})
			if v, err := m.Allow(t.Context(), "shadow", "192.0.2.1"); err != nil || !v.Allowed || v.RetryAfter != tt.wait {
				t.Errorf("Allow: got %+v, %v, want allowed, and a wait of %v told", v, err, tt.wait)
			}
			if v, err := m.Peek(t.Context(), "shadow", "192.0.2.1"); err != nil || !v.Allowed || v.RetryAfter != tt.wait {
				t.Errorf("Peek: got %+v, %v, want allowed, and a wait of %v told", v, err, tt.wait)
			}
		})
	}
}
