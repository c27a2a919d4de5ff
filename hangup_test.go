package httplimit_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// hangsUp is a store that cannot decide because the client leaves while it works.
type hangsUp struct {
	*scripted
	leave context.CancelFunc
}

func (s hangsUp) Take(ctx context.Context, charges []limiter.Charge) (bool, error) {
	s.leave()
	return s.scripted.Take(ctx, charges)
}

func TestNoPolicyDecidesForAClientThatHasLeft(t *testing.T) {
	for _, policy := range []httplimit.FailurePolicy{httplimit.FailLocal, httplimit.FailOpen, httplimit.FailClosed} {
		t.Run(policy.String(), func(t *testing.T) {
			ctx, leave := context.WithCancel(t.Context())
			m := mustNew(
				t,
				httplimit.Config{Store: hangsUp{&scripted{}, leave}, Rules: []httplimit.Rule{failingRule("r", policy, 5)}},
			)
			o := m.Check(httplimit.HTTPRequest(get().WithContext(ctx)))
			if d, _ := o.Denied(); d.Status != 499 || d.RetryAfter != 0 || len(d.Rules) > 0 {
				t.Errorf("denied with %+v, want 499 and nothing else", d)
			}
			for name, value := range o.Fields() {
				t.Errorf("%s: %s, want no field", name, value)
			}
			o.Settle(499)
			if h := m.Health(); len(h) > 0 {
				t.Errorf("health %+v, want none: it is not the store that failed", h)
			}
		})
	}
}

// onLine is a log that does something with each line.
type onLine struct {
	slog.Handler
	do func()
}

func (h onLine) Handle(ctx context.Context, r slog.Record) error {
	h.do()
	return h.Handler.Handle(ctx, r)
}

// TestClientThatLeavesBeforeTheLocalCountIsNotServed has it leave when the line about the store is written, which is
// between the store's answer and the count in this process.
func TestClientThatLeavesBeforeTheLocalCountIsNotServed(t *testing.T) {
	var log bytes.Buffer
	ctx, leave := context.WithCancel(t.Context())
	m := mustNew(t, httplimit.Config{
		Store: &scripted{err: errDown}, Rules: []httplimit.Rule{failingRule("r", httplimit.FailLocal, 5)},
		Logger: slog.New(onLine{slog.NewTextHandler(&log, nil), leave}),
	})
	o := m.Check(httplimit.HTTPRequest(get().WithContext(ctx)))
	if d, _ := o.Denied(); d.Status != 499 || d.RetryAfter != 0 {
		t.Errorf("denied with %+v, want 499", d)
	}
	o.Settle(499)
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "the store cannot decide") {
		t.Errorf("log: got %q, want one line, about the store", got)
	}
}

// leavesDecided is a store that decides, and whose client leaves meanwhile.
type leavesDecided struct {
	*scripted
	leave context.CancelFunc
}

func (s leavesDecided) Take(ctx context.Context, charges []limiter.Charge) (bool, error) {
	defer s.leave()
	return s.scripted.Take(ctx, charges)
}

// TestNobodyIsToldOfAClientThatHasLeft: a decision that nobody waits for is neither observed nor logged.
func TestNobodyIsToldOfAClientThatHasLeft(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	rule := failingRule("r", httplimit.FailLocal, 5)
	rule.Shadow = true
	var seen recorder
	var log bytes.Buffer
	m := mustNew(t, httplimit.Config{
		Store:    leavesDecided{&scripted{answer: func(c *limiter.Charge) { c.Allowed = false }}, leave},
		Observer: &seen, Rules: []httplimit.Rule{rule}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	o := m.Check(httplimit.HTTPRequest(get().WithContext(ctx)))
	if !o.Abandoned() || len(seen.seen) > 0 || log.Len() > 0 {
		t.Errorf("status %d, observed %q, log %q, want 499 and nothing else", o.Status(), seen.seen, log.String())
	}
	o.Settle(499)
}
