package httplimit_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// asked is a store that looks at the context it is asked with, and keeps it.
type asked struct {
	*scripted
	with context.Context
}

func (s *asked) Take(ctx context.Context, charges []limiter.Charge) (bool, error) {
	s.with = ctx
	return s.scripted.Take(ctx, charges)
}

type userKey struct{}

// checkEndless wants the values of a context, and no end.
func checkEndless(t *testing.T, ctx context.Context) {
	t.Helper()
	if ctx == nil {
		t.Fatal("the store was not asked")
	}
	at, limited := ctx.Deadline()
	if ctx.Err() != nil || ctx.Done() != nil || limited {
		t.Errorf("Err %v, Done %v, Deadline %v %v, want none of them", ctx.Err(), ctx.Done(), at, limited)
	}
	if got := ctx.Value(userKey{}); got != "ann" {
		t.Errorf("Value: got %v, want ann", got)
	}
	below, cancel := context.WithTimeout(ctx, time.Hour)
	if below.Err() != nil {
		t.Errorf("a context below it has ended: %v", below.Err())
	}
	cancel()
}

// TestTheStoreIsAskedWithoutTheEnd: how the request's context ends is no matter of the decision.
func TestTheStoreIsAskedWithoutTheEnd(t *testing.T) {
	user := context.WithValue(context.Background(), userKey{}, "ann")
	canceled, cancel := context.WithCancel(user)
	cancel()
	late, cancel := context.WithDeadline(user, time.Unix(0, 0))
	defer cancel()
	rule := ip(limiter.PerDay(5))
	for name, ctx := range map[string]context.Context{"canceled": canceled, "too late": late, "endless": user} {
		for way, ask := range map[string]func(m *httplimit.Middleware, r *http.Request){
			"Handler": func(m *httplimit.Middleware, r *http.Request) {
				m.Handler(http.NotFoundHandler()).ServeHTTP(httptest.NewRecorder(), r)
			},
			"Check": func(m *httplimit.Middleware, r *http.Request) { m.Check(httplimit.HTTPRequest(r)).Settle(200) },
			"Check of another framework": func(m *httplimit.Middleware, r *http.Request) {
				m.Check(foreign{httplimit.HTTPRequest(r)}).Settle(200)
			},
			"CheckHTTP": func(m *httplimit.Middleware, r *http.Request) { m.CheckHTTP(r, "", userKey{}, "eve").Settle(200) },
			"Allow": func(m *httplimit.Middleware, r *http.Request) {
				if v, err := m.Allow(r.Context(), "ip", "192.0.2.1"); err != nil || !v.Allowed {
					t.Errorf("Allow: got %+v, %v, want allowed", v, err)
				}
			},
			"Peek": func(m *httplimit.Middleware, r *http.Request) {
				if v, err := m.Peek(r.Context(), "ip", "192.0.2.1"); err != nil || !v.Allowed {
					t.Errorf("Peek: got %+v, %v, want allowed", v, err)
				}
			},
		} {
			t.Run(name+"/"+way, func(t *testing.T) {
				store := &asked{scripted: &scripted{}}
				ask(mustNew(t, httplimit.Config{Store: store, Rules: []httplimit.Rule{rule}}), get().WithContext(ctx))
				checkEndless(t, store.with) // also now that the request is over and its Outcome may be another one's
			})
		}
	}
}

// TestWhatWasDecidedIsCarriedOut although the request's context has ended.
func TestWhatWasDecidedIsCarriedOut(t *testing.T) {
	refuse := func(c *limiter.Charge) { c.Allowed, c.RetryAfter = false, time.Second }
	tests := map[string]struct {
		store  *scripted
		policy httplimit.FailurePolicy
		want   int
	}{
		"admitted":                     {&scripted{}, httplimit.FailLocal, 200},
		"refused":                      {&scripted{answer: refuse}, httplimit.FailLocal, 429},
		"store down, counted locally":  {&scripted{err: errDown}, httplimit.FailLocal, 200},
		"store down, open":             {&scripted{err: errDown}, httplimit.FailOpen, 200},
		"store down, closed":           {&scripted{err: errDown}, httplimit.FailClosed, 503},
		"an error of an ended context": {&scripted{err: context.Canceled}, httplimit.FailClosed, 503},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			m := mustNew(t, httplimit.Config{Store: tt.store, Rules: []httplimit.Rule{failingRule("r", tt.policy, 5)}})
			served, w := false, httptest.NewRecorder()
			m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				served = true
				if r.Context() != ctx {
					t.Error("the handler got another context than the request's")
				}
				w.WriteHeader(http.StatusOK)
			})).ServeHTTP(w, get().WithContext(ctx))
			if w.Code != tt.want || served != (tt.want == 200) {
				t.Errorf("got %d, served %v, want %d", w.Code, served, tt.want)
			}
			if tt.want != 200 && w.Body.Len() == 0 {
				t.Error("the refusal has no body")
			}
		})
	}
}

// TestADecisionWithoutAClientIsObserved: what was refused and counted is told, whoever still waits for it.
func TestADecisionWithoutAClientIsObserved(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	rule := failingRule("r", httplimit.FailLocal, 5)
	rule.Shadow = true
	var seen recorder
	var log bytes.Buffer
	m := mustNew(t, httplimit.Config{
		Store:    &scripted{answer: func(c *limiter.Charge) { c.Allowed = false }},
		Observer: &seen, Rules: []httplimit.Rule{rule}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	m.Check(httplimit.HTTPRequest(get().WithContext(ctx))).Settle(0)
	if len(seen.seen) != 1 || !strings.Contains(log.String(), "a shadow rule would have refused") {
		t.Errorf("observed %q, log %q, want one decision and a line about it", seen.seen, log.String())
	}
}

// TestHangingUpIsNoFreeTry: a handler that counts login names spends the unit although its client has left, and gets no
// error that it might let pass.
func TestHangingUpIsNoFreeTry(t *testing.T) {
	m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{failingRule("ip", httplimit.FailOpen, 3)}})
	ctx, hangUp := context.WithCancel(t.Context())
	hangUp()
	for try := range 5 {
		v, err := m.Allow(ctx, "ip", "192.0.2.1")
		if want := try < 3; err != nil || v.Allowed != want {
			t.Errorf("try %d: got allowed %v, %v, want %v", try+1, v.Allowed, err, want)
		}
	}
}
