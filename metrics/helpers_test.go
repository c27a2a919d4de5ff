package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
	"github.com/httplimit/httplimit/metrics"
)

var errDown = errors.New("the store is down")

// newMiddleware returns a Middleware that c counts, and watches.
func newMiddleware(t *testing.T, c *metrics.Counters, cfg httplimit.Config) *httplimit.Middleware {
	t.Helper()
	cfg.Observer = c
	m, err := httplimit.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	c.Watch(m)
	return m
}

func newMemory(t *testing.T, cfg memstore.Config) *memstore.Store {
	t.Helper()
	store, err := memstore.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// byHeader is a rule whose key is a header field.
func byHeader(name, header string, l limiter.Limit) httplimit.Rule {
	return httplimit.Rule{Name: name, Key: httplimit.Header(header), Limit: l}
}

// send serves a request with these fields and returns the status.
func send(h http.Handler, fields ...string) int {
	r, w := httptest.NewRequest(http.MethodGet, "/", nil), httptest.NewRecorder()
	for i := 0; i+1 < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	h.ServeHTTP(w, r)
	return w.Code
}

func ok(http.ResponseWriter, *http.Request) {}

// find returns what was counted of a rule.
func find(t *testing.T, s metrics.Snapshot, namespace, name string) metrics.Rule {
	t.Helper()
	for _, r := range s.Rules {
		if r.Namespace == namespace && r.Name == name {
			return r
		}
	}
	t.Fatalf("no rule %q of %q in %+v", name, namespace, s.Rules)
	return metrics.Rule{}
}

// decisions returns what was counted of a rule as text, such as "allowed by store: 3".
func decisions(r metrics.Rule) (all []string) {
	for _, d := range r.Decisions {
		all = append(all, fmt.Sprintf("%v by %v: %d", d.Result, d.Source, d.Count))
	}
	return all
}

func checkDecisions(t *testing.T, r metrics.Rule, want ...string) {
	t.Helper()
	if got := decisions(r); !slices.Equal(got, want) {
		t.Errorf("rule %q of %q:\n got %q\nwant %q", r.Name, r.Namespace, got, want)
	}
}

// costs returns the costs of a rule as text, such as "allowed: 5 - 2".
func costs(r metrics.Rule) string {
	var all []string
	for _, c := range r.Costs {
		all = append(all, fmt.Sprintf("%v: %d - %d", c.Result, c.Units, c.Refunded))
	}
	return strings.Join(all, ", ")
}

// failing is a store that is away.
type failing struct{}

func (failing) Take(context.Context, []limiter.Charge) (bool, error) { return false, errDown }
func (failing) Reset(context.Context, []limiter.Charge) error        { return errDown }
