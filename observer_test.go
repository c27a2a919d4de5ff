package httplimit_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// recorder is an Observer that writes down what it is told.
type recorder struct {
	calls int
	seen  []string                // what each rule decided
	all   []httplimit.Observation // copies
}

func (r *recorder) Observe(_ context.Context, o *httplimit.Observation) {
	r.calls++
	kept := *o
	kept.Rules = slices.Clone(o.Rules)
	for i := range kept.Rules {
		one := &kept.Rules[i]
		one.Key = strings.Clone(one.Key)
		r.seen = append(r.seen, fmt.Sprintf("%s %v by %v costs %d", one.Rule, one.Result, one.Source, one.Cost))
	}
	r.all = append(r.all, kept)
}

// last returns the last Observation.
func (r *recorder) last(t *testing.T) httplimit.Observation {
	t.Helper()
	if len(r.all) == 0 {
		t.Fatal("nothing was observed")
	}
	return r.all[len(r.all)-1]
}

func TestObserverIsToldOfAllow(t *testing.T) {
	tests := map[string]struct {
		err    error
		policy httplimit.FailurePolicy
		want   []string
	}{
		"decided":     {nil, 0, []string{"a allowed by store costs 1", "a refused by store costs 1"}},
		"fail local":  {errDown, httplimit.FailLocal, []string{"a allowed by local costs 1", "a refused by local costs 1"}},
		"fail open":   {errDown, httplimit.FailOpen, []string{"a open by none costs 1", "a open by none costs 1"}},
		"fail closed": {errDown, httplimit.FailClosed, []string{"a closed by none costs 1", "a closed by none costs 1"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var seen recorder
			cfg := httplimit.Config{
				Observer: &seen,
				Rules:    []httplimit.Rule{{Name: "a", Key: httplimit.Everyone(), Limit: limiter.PerDay(1), Failure: tt.policy}},
			}
			if tt.err != nil {
				cfg.Store = &scripted{err: tt.err}
			}
			m := mustNew(t, cfg)
			for range 2 {
				_, _ = m.Allow(t.Context(), "a")
			}
			_, _ = m.Peek(t.Context(), "a")
			if !slices.Equal(seen.seen, tt.want) {
				t.Errorf("observed:\n got %q\nwant %q", seen.seen, tt.want)
			}
			if got := seen.all[0].StoreFailed(); got != (tt.err != nil) {
				t.Errorf("StoreFailed: got %t, want %t", got, !got)
			}
		})
	}
}

func TestObserver(t *testing.T) {
	rules := func(policy httplimit.FailurePolicy) []httplimit.Rule {
		return []httplimit.Rule{
			{
				Name:    "a",
				Key:     httplimit.Everyone(),
				Limit:   limiter.PerDay(5),
				Failure: policy,
				Cost:    func(*http.Request) (int64, error) { return 3, nil },
			},
			{Name: "b", Key: httplimit.Everyone(), Limit: limiter.PerDay(5), Failure: httplimit.FailOpen, Shadow: true},
		}
	}
	refuse := func(scope string) func(*limiter.Charge) {
		return func(c *limiter.Charge) {
			if strings.HasSuffix(c.Scope, scope) {
				c.Decision = limiter.Decision{RetryAfter: time.Second}
			}
		}
	}
	remember := func(c *limiter.Charge) { refuse("a")(c); c.Cached = true }
	tests := map[string]struct {
		store  *scripted
		policy httplimit.FailurePolicy
		want   []string
	}{
		"allowed": {&scripted{}, 0, []string{"a allowed by store costs 3", "b allowed by store costs 1"}},
		"refused": {
			&scripted{answer: refuse("a")},
			0,
			[]string{"a refused by store costs 3", "b allowed by store costs 1"},
		},
		"refused by a shadow rule": {
			&scripted{answer: refuse("b")},
			0,
			[]string{"a allowed by store costs 3", "b shadow_refused by store costs 1"},
		},
		"refused by a cache": {
			&scripted{answer: remember},
			0,
			[]string{"a refused by cache costs 3", "b unjudged by none costs 1"},
		},
		"store down, fail local": {
			&scripted{err: errDown},
			httplimit.FailLocal,
			[]string{"a allowed by local costs 3", "b open by none costs 1"},
		},
		"store down, fail open": {
			&scripted{err: errDown},
			httplimit.FailOpen,
			[]string{"a open by none costs 3", "b open by none costs 1"},
		},
		"store down, fail closed": {
			&scripted{err: errDown},
			httplimit.FailClosed,
			[]string{"a closed by none costs 3", "b open by none costs 1"},
		},
		"a charge beyond the rest": {
			&scripted{answer: refuse("")},
			0,
			[]string{"a refused by store costs 3", "b shadow_refused by store costs 1"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var seen recorder
			m := mustNew(t, httplimit.Config{Store: tt.store, Rules: rules(tt.policy), Observer: &seen})
			serve(m, "192.0.2.7:1")
			if !slices.Equal(seen.seen, tt.want) {
				t.Errorf("observed:\n got %q\nwant %q", seen.seen, tt.want)
			}
			if got := seen.all[0].StoreFailed(); got != (tt.store.err != nil) {
				t.Errorf("StoreFailed: got %t, want %t", got, !got)
			}
		})
	}
}
