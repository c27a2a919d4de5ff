package httplimit

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// discard is a ResponseWriter that costs nothing itself.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

func TestHandlerAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	year := 366 * 24 * time.Hour // no window boundary comes in between
	tests := map[string]struct {
		limit   limiter.Limit
		percent int
		ban     Ban
		count   func(int) bool
		want    float64 // the values stand in an arena, which is made for many requests at once
	}{
		"allowed":        {limit: limiter.Per(1_000_000, year)},
		"refused":        {limit: limiter.Per(1, year)},
		"in its Percent": {limit: limiter.Per(1, year), percent: 99},
		"outside of it":  {limit: limiter.Per(1, year), percent: 1},
		"with a Ban":     {limit: limiter.Per(1_000_000, year), ban: Ban{After: 1, Within: year, For: year}},
		"banned":         {limit: limiter.Per(1, year), ban: Ban{After: 1, Within: year, For: year}},
		// One for the writer that the handler gets.
		"watched": {limit: limiter.Per(1_000_000, year), count: func(int) bool { return true }, want: 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m, err := New(Config{Rules: []Rule{{
				Name: "ip", Key: ClientIP(), Limit: tt.limit, Percent: tt.percent, CountStatus: tt.count,
				Ban: tt.ban,
			}}})
			if err != nil {
				t.Fatal(err)
			}
			h := m.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			ctx, cancel := context.WithCancel(t.Context()) // those of a server can be cancelled
			defer cancel()
			w, r := discard{http.Header{}}, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
			h.ServeHTTP(w, r)
			if got := testing.AllocsPerRun(1000, func() { clear(w.header); h.ServeHTTP(w, r) }); got > tt.want {
				t.Errorf("got %v allocations a request, want at most %v", got, tt.want)
			}
		})
	}
}

// quiet is an Observer that looks at all that it is told.
type quiet struct{ sum int }

func (q *quiet) Observe(_ context.Context, o *Observation) {
	q.sum += o.Status + int(o.Store) + len(o.Request.Method())
	for i := range o.Rules {
		r := &o.Rules[i]
		q.sum += len(r.Key) + len(r.Rule) + int(r.Result) + int(r.Source)
	}
}

func TestObserverAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	year := 366 * 24 * time.Hour // no window boundary comes in between
	never := Rule{
		Name:  "never",
		Key:   ClientIP(),
		Limit: limiter.Per(1, year),
		When:  func(*http.Request) bool { return false },
	}
	ip, all := Rule{Name: "ip", Key: ClientIP()}, Rule{Name: "all", Key: Everyone(), Limit: limiter.Per(1_000_000, year)}
	for name, limit := range map[string]int64{"allowed": 1_000_000, "refused": 1} {
		t.Run(name, func(t *testing.T) {
			ip.Limit = limiter.Per(limit, year)
			for rules, list := range map[string][]Rule{"one": {ip}, "several": {ip, all, never}, "none that applies": {never}} {
				m, err := New(Config{Observer: &quiet{}, Rules: list})
				if err != nil {
					t.Fatal(err)
				}
				h := m.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
				w, r := discard{http.Header{}}, httptest.NewRequest(http.MethodGet, "/", nil)
				h.ServeHTTP(w, r)
				if got := testing.AllocsPerRun(1000, func() { clear(w.header); h.ServeHTTP(w, r) }); got > 0 {
					t.Errorf("rules %s: got %v allocations a request, want none", rules, got)
				}
			}
		})
	}
}

// TestObservedAllowAllocations: Allow allocates as much with an Observer as without one.
func TestObservedAllowAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	allocations := func(o Observer) float64 {
		m, err := New(Config{Observer: o, Rules: []Rule{{Name: "ip", Key: ClientIP(), Limit: limiter.PerDay(1_000_000)}}})
		if err != nil {
			t.Fatal(err)
		}
		return testing.AllocsPerRun(1000, func() { _, _ = m.Allow(context.Background(), "ip", "192.0.2.1") })
	}
	without, with := allocations(nil), allocations(told{})
	if with > without || without > 4 {
		t.Errorf("got %v allocations with an Observer and %v without, want as many, and at most 4", with, without)
	}
}

// told is an Observer that does nothing.
type told struct{}

func (told) Observe(context.Context, *Observation) {}

// TestReusedObservationsHoldNothing of a request that is over.
func TestReusedObservationsHoldNothing(t *testing.T) {
	var kept *Observation
	m, err := New(Config{
		Observer: observerFunc(func(_ context.Context, o *Observation) { kept = o }),
		Rules:    []Rule{{Name: "ip", Key: ClientIP(), Limit: limiter.PerDay(5)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	o := m.Check(HTTPRequest(httptest.NewRequest(http.MethodGet, "/", nil)))
	if kept.Request != nil {
		t.Errorf("the memory still holds %+v", kept)
	}
	for _, r := range kept.Rules[:cap(kept.Rules)] {
		if r.Key != "" {
			t.Errorf("the memory still holds %+v", r)
		}
	}
	o.Settle(http.StatusOK)
}

type observerFunc func(context.Context, *Observation)

func (f observerFunc) Observe(ctx context.Context, o *Observation) { f(ctx, o) }

// TestPlansAllocateNothing: also one that is in no list, from its second request on.
func TestPlansAllocateNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	plan := limiter.Per(1_000_000, 365*24*time.Hour)
	for name, declared := range map[string][]limiter.Limit{"declared": {plan}, "not declared": nil} {
		m, err := New(Config{Headers: NoHeaders, Rules: []Rule{{
			Name: "plan", Key: ClientIP(), Limit: limiter.PerMinute(1), Plans: declared,
			LimitFunc: func(*http.Request) (limiter.Limit, error) { return plan, nil },
		}}})
		if err != nil {
			t.Fatal(err)
		}
		h := m.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		w, r := discard{http.Header{}}, httptest.NewRequest(http.MethodGet, "/", nil)
		h.ServeHTTP(w, r)
		if got := testing.AllocsPerRun(1000, func() { h.ServeHTTP(w, r) }); got > 0 {
			t.Errorf("a plan that is %s: got %v allocations a request, want none", name, got)
		}
	}
}

// TestReusedMemoryHoldsNoKey: nor does the memory of a rule that turns out not to apply.
func TestReusedMemoryHoldsNoKey(t *testing.T) {
	skip := func(*http.Request) (int64, error) { return 0, ErrSkip }
	key := KeyFunc(func(*http.Request) (string, error) { return "alice", nil })
	m, err := New(Config{Rules: []Rule{
		{
			Name:  "applies",
			Key:   key,
			Limit: limiter.PerDay(5),
		}, {Name: "skipped", Key: key, Limit: limiter.PerDay(5), Cost: skip},
	}})
	if err != nil {
		t.Fatal(err)
	}
	o := &Outcome{}
	o.own.r = httptest.NewRequest(http.MethodGet, "/", nil)
	o.check(m, &o.own, false)
	if len(o.decision.charges) != 1 || o.decision.charges[0].Key != "alice" {
		t.Fatalf("got the charges %+v, want one of alice", o.decision.charges)
	}
	o.Settle(http.StatusOK)
	for _, c := range o.decision.charges[:cap(o.decision.charges)] {
		if c.Key != "" {
			t.Errorf("the memory still holds the key %q", c.Key)
		}
	}
}
