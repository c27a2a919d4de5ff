package httplimit_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// panics is a store that does, with a client's key in its hands.
type panics struct {
	*scripted
	onTake, onRefund, onReset, onCheck bool
}

func (p *panics) Take(ctx context.Context, charges []limiter.Charge) (bool, error) {
	charges[0].Allowed, charges[0].RetryAfter, charges[0].Key = true, limiter.Never, charges[0].Key+"?"
	if p.onTake || p.onRefund && charges[0].Cost < 0 {
		panic("secret of " + charges[0].Key)
	}
	charges[0].Key = strings.TrimSuffix(charges[0].Key, "?")
	return p.scripted.Take(ctx, charges)
}

func (p *panics) Reset(context.Context, []limiter.Charge) error {
	if p.onReset {
		var none []string
		none[len(none)] = "secret"
	}
	return nil
}

func (p *panics) Check(limiter.Limit) error {
	if p.onCheck {
		panic(errors.New("secret"))
	}
	return nil
}

// TestAStoreThatPanicsCouldNotDecide: every policy holds as for any other failure, and the log says where it was, once.
func TestAStoreThatPanicsCouldNotDecide(t *testing.T) {
	for policy, want := range map[httplimit.FailurePolicy][]int{
		httplimit.FailLocal:  {200, 200, 429},
		httplimit.FailOpen:   {200, 200, 200},
		httplimit.FailClosed: {503, 503, 503},
	} {
		t.Run(policy.String(), func(t *testing.T) {
			var log bytes.Buffer
			m := mustNew(t, httplimit.Config{
				Store: &panics{scripted: &scripted{}, onTake: true}, Rules: []httplimit.Rule{failingRule("r", policy, 2)},
				Logger: slog.New(slog.NewTextHandler(&log, nil)),
			})
			server := httptest.NewServer(m.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, "ok")
			})))
			defer server.Close()
			for i, status := range want {
				a, err := server.Client().Get(server.URL)
				if err != nil {
					t.Fatalf("request %d: %v", i+1, err)
				}
				body, _ := io.ReadAll(a.Body)
				a.Body.Close()
				if a.StatusCode != status || strings.Contains(string(body), "panic") {
					t.Errorf("request %d: got %s %q, want %d and nothing of the panic", i+1, a.Status, body, status)
				}
			}
			if h := m.Health(); len(h) != 1 || h[0].Err.Error() != "the store panicked: a string" {
				t.Errorf("Health: got %+v, want the panic", h)
			}
			if got := log.String(); strings.Count(got, "stack=") != 1 || !strings.Contains(got, "panics).Take") ||
				strings.Contains(got, "secret") {
				t.Errorf("log: got %s, want one stack, and nothing of the value", got)
			}
		})
	}
}

func TestAStoreThatPanicsElsewhere(t *testing.T) {
	rule := ip(limiter.PerDay(5))
	rule.Failure, rule.CountStatus = httplimit.FailClosed, func(int) bool { return false }
	t.Run("Allow", func(t *testing.T) {
		m := mustNew(t, httplimit.Config{Store: &panics{scripted: &scripted{}, onTake: true}, Rules: []httplimit.Rule{rule}})
		if v, err := m.Allow(t.Context(), "ip", "192.0.2.1"); err == nil || v.Allowed {
			t.Errorf("got %+v, %v, want an error", v, err)
		}
	})
	t.Run("a refund", func(t *testing.T) {
		m := mustNew(
			t,
			httplimit.Config{Store: &panics{scripted: &scripted{}, onRefund: true}, Rules: []httplimit.Rule{rule}},
		)
		if w := serve(m, "192.0.2.1:1"); w.Code != http.StatusOK || w.Body.String() != "ok" {
			t.Errorf("got %d %q, want the handler's answer", w.Code, w.Body)
		}
	})
	t.Run("Reset", func(t *testing.T) {
		m := mustNew(t, httplimit.Config{Store: &panics{scripted: &scripted{}, onReset: true}, Rules: []httplimit.Rule{rule}})
		err := m.Reset(t.Context(), "ip", "192.0.2.1")
		if err == nil || !strings.Contains(err.Error(), "the store panicked: runtime error: index out of range") {
			t.Errorf("got %v, want the fault of the runtime", err)
		}
	})
	t.Run("Check in New", func(t *testing.T) {
		_, err := httplimit.New(httplimit.Config{
			Store: &panics{scripted: &scripted{}, onCheck: true}, Rules: []httplimit.Rule{rule},
		})
		var fault *httplimit.ConfigError
		if !errors.As(err, &fault) || fault.Field != "Rules[0].Limit" {
			t.Errorf("got %v, want a fault of the Limit", err)
		}
	})
	t.Run("Check of a LimitFunc's limit", func(t *testing.T) {
		store := &panics{scripted: &scripted{}}
		plan := rule
		plan.LimitFunc = func(*http.Request) (limiter.Limit, error) { return limiter.PerDay(9), nil }
		m := mustNew(t, httplimit.Config{Store: store, Rules: []httplimit.Rule{plan}})
		store.onCheck = true
		if w := serve(m, "192.0.2.1:1"); w.Code != http.StatusOK ||
			!strings.Contains(w.Header().Get("RateLimit-Policy"), "q=5") {
			t.Errorf("got %d %v, want the rule's Limit", w.Code, w.Header())
		}
	})
	t.Run("Spend", func(t *testing.T) {
		store := &panics{scripted: &scripted{}}
		m := mustNew(t, httplimit.Config{Store: store, Expose: true, Rules: []httplimit.Rule{rule}})
		m.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			store.onTake = true
			if err := httplimit.Spend(r.Context(), "ip", 1); err == nil {
				t.Error("got no error")
			}
		})).ServeHTTP(httptest.NewRecorder(), get())
	})
}
