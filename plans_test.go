package httplimit_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
)

// plans is a rule whose LimitFunc takes the plan that a request names, by X-User.
func plans(declared ...limiter.Limit) httplimit.Rule {
	return httplimit.Rule{
		Name: "plan", Key: httplimit.Header("X-User"), Limit: limiter.PerMinute(1), Plans: declared,
		LimitFunc: func(r *http.Request) (limiter.Limit, error) {
			if plan := r.Header.Get("X-Plan"); plan != "" {
				return limiter.ParseLimit(plan)
			}
			return limiter.PerMinute(1), nil
		},
	}
}

// askedPlan sends a request of ann's under a plan, "" for the rule's Limit, and returns the status.
func askedPlan(m *httplimit.Middleware, r *http.Request, plan string) int {
	r.Header.Set("X-User", "ann")
	if plan != "" {
		r.Header.Set("X-Plan", plan)
	}
	return serveRequest(m, r).Code
}

func TestPlansAreChecked(t *testing.T) {
	many := make([]limiter.Limit, 64) // and that of Limit
	for i := range many {
		many[i] = limiter.Per(5, time.Hour+time.Duration(i)*time.Second)
	}
	logs := limiter.Limit{Requests: 5, Window: time.Minute, Algorithm: limiter.SlidingLog}
	noFunc := plans(limiter.PerHour(5))
	noFunc.LimitFunc = nil
	for name, tt := range map[string]struct {
		rule httplimit.Rule
		want []string // the fields of the faults
	}{
		"none":                                {plans(), nil},
		"other windows":                       {plans(limiter.PerHour(5), limiter.PerDay(9)), nil},
		"one counter twice":                   {plans(limiter.PerHour(5), limiter.PerHour(6), limiter.PerHour(6)), nil},
		"the counter of Limit":                {plans(limiter.PerMinute(1), limiter.PerMinute(600)), nil},
		"a suspended tenant's":                {plans(limiter.PerMinute(0)), nil},
		"without LimitFunc":                   {noFunc, nil},
		"as many windows as there can be":     {plans(many[:63]...), nil},
		"a window too many":                   {plans(many...), []string{"Rules[0].Plans[63]"}},
		"the zero Limit":                      {plans(limiter.PerHour(5), limiter.Limit{}), []string{"Rules[0].Plans[1]"}},
		"an algorithm that the store has not": {plans(logs, limiter.PerHour(5)), []string{"Rules[0].Plans[0]"}},
		"several faults": {plans(limiter.PerHour(-1), limiter.PerHour(5), logs),
			[]string{"Rules[0].Plans[0]", "Rules[0].Plans[2]"}},
	} {
		t.Run(name, func(t *testing.T) {
			store, err := memstore.New(memstore.Config{})
			if err != nil {
				t.Fatal(err)
			}
			cfg := httplimit.Config{Store: withoutLogs{store}, Rules: []httplimit.Rule{tt.rule}}
			if _, err = httplimit.New(cfg); !slices.Equal(fields(err), tt.want) {
				t.Errorf("New: got faults of %q, want of %q: %v", fields(err), tt.want, err)
			}
			if err = cfg.Validate(); !slices.Equal(fields(err), tt.want) {
				t.Errorf("Validate: got faults of %q, want of %q: %v", fields(err), tt.want, err)
			}
		})
	}
}

// What is declared is known from the start: a LimitFunc that has used up all windows before does not displace it.
func TestDeclaredPlansHaveTheirWindow(t *testing.T) {
	m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{plans(limiter.PerDay(1))}})
	for i := range 100 {
		askedPlan(m, get(), fmt.Sprintf("1000/%ds", 3601+i))
	}
	for i, want := range []int{200, 429} {
		if got := askedPlan(m, get(), "1/d"); got != want {
			t.Errorf("request %d under the declared plan: got %d, want %d", i+1, got, want)
		}
	}
}

// TestNewCopiesThePlans: what the caller does to the list afterwards changes nothing.
func TestNewCopiesThePlans(t *testing.T) {
	store := newStore(t)
	declared := []limiter.Limit{limiter.PerDay(1)}
	m := mustNew(t, httplimit.Config{Store: store, Rules: []httplimit.Rule{plans(declared...)}})
	other := mustNew(t, httplimit.Config{Store: store, Rules: []httplimit.Rule{plans()}})
	declared[0] = limiter.Limit{}
	askedPlan(other, get(), "1/d")
	if err := m.Reset(t.Context(), "plan", "ann"); err != nil {
		t.Fatal(err)
	}
	if got := askedPlan(other, get(), "1/d"); got != 200 {
		t.Errorf("after Reset: got %d, want 200", got)
	}
}

func newStore(t *testing.T) limiter.Store {
	t.Helper()
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// TestResetFreesTheClientWhateverItsPlan: an operator does not know by which counter a customer is refused.
func TestResetFreesTheClientWhateverItsPlan(t *testing.T) {
	all := []string{"1/h", "1/d", "1/m fixed-window", "1/m sliding-log", "1/m token-bucket", "1/h token-bucket"}
	declared := make([]limiter.Limit, len(all))
	for i, text := range all {
		limit, err := limiter.ParseLimit(text)
		if err != nil {
			t.Fatal(err)
		}
		declared[i] = limit
	}
	all = append(all, "") // the rule's Limit
	type process = func(*testing.T, limiter.Store) *httplimit.Middleware
	open := func(t *testing.T, store limiter.Store, declared ...limiter.Limit) *httplimit.Middleware {
		return mustNew(t, httplimit.Config{Store: store, Rules: []httplimit.Rule{plans(declared...)}})
	}
	reconfigured := func(first, second []limiter.Limit) process {
		return func(t *testing.T, store limiter.Store) *httplimit.Middleware {
			m := open(t, store, first...)
			for _, plan := range all {
				askedPlan(m, get(), plan)
			}
			rule := plans(second...)
			rule.Limit, rule.LimitFunc = limiter.PerHour(9), nil
			for range 3 {
				if err := m.Reconfigure(httplimit.Config{Rules: []httplimit.Rule{rule}}); err != nil {
					t.Fatal(err)
				}
			}
			return m
		}
	}
	for name, operator := range map[string]process{
		"declared, in a process that has seen none": func(t *testing.T, s limiter.Store) *httplimit.Middleware {
			return open(t, s, declared...)
		},
		"seen":                          nil,
		"seen before a Reconfigure":     reconfigured(nil, nil),
		"declared before a Reconfigure": reconfigured(declared, nil),
		"declared by a Reconfigure":     reconfigured(nil, declared),
	} {
		t.Run(name, func(t *testing.T) {
			store := newStore(t)
			service := open(t, store)
			refuse := func(r func() *http.Request) {
				for _, plan := range all {
					askedPlan(service, r(), plan)
					if got := askedPlan(service, r(), plan); got != 429 {
						t.Fatalf("the second request under %q: got %d, want 429", plan, got)
					}
				}
			}
			refuse(get)
			refuse(preflight)
			m := service
			if operator != nil {
				m = operator(t, store)
			}
			if err := m.Reset(t.Context(), "plan", "ann"); err != nil {
				t.Fatal(err)
			}
			for _, plan := range all {
				for kind, r := range map[string]*http.Request{"request": get(), "preflight": preflight()} {
					if got := askedPlan(service, r, plan); got != 200 {
						t.Errorf("a %s under %q after Reset: got %d, want 200", kind, plan, got)
					}
				}
			}
		})
	}
}

// While the store is away the client is counted here, by its plan too.
func TestResetFreesWhatThisProcessCountedByPlan(t *testing.T) {
	store := &scripted{err: errDown}
	m := mustNew(t, httplimit.Config{Store: store, Rules: []httplimit.Rule{plans(limiter.PerDay(1))}})
	for i, want := range []int{200, 429} {
		if got := askedPlan(m, get(), "1/d"); got != want {
			t.Fatalf("request %d: got %d, want %d", i+1, got, want)
		}
	}
	store.fail(nil)
	if err := m.Reset(t.Context(), "plan", "ann"); err != nil {
		t.Fatal(err)
	}
	store.fail(errDown)
	if got := askedPlan(m, get(), "1/d"); got != 200 {
		t.Errorf("after Reset: got %d, want 200", got)
	}
}

// A counter of an algorithm that only the store before had is no reason to fail.
func TestResetAfterAChangeOfTheStore(t *testing.T) {
	m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{plans()}})
	askedPlan(m, get(), "1/m sliding-log")
	if err := m.Reconfigure(httplimit.Config{
		Store: withoutLogs{&refusesLogs{Store: newStore(t)}}, Rules: []httplimit.Rule{plans()},
	}); err != nil {
		t.Fatal(err)
	}
	askedPlan(m, get(), "")
	if err := m.Reset(t.Context(), "plan", "ann"); err != nil {
		t.Fatalf("Reset: got %v, want nil", err)
	}
	if got := askedPlan(m, get(), ""); got != 200 {
		t.Errorf("after Reset: got %d, want 200", got)
	}
}

// refusesLogs is a store that fails on SlidingLog.
type refusesLogs struct{ limiter.Store }

func (s *refusesLogs) Reset(ctx context.Context, charges []limiter.Charge) error {
	for _, c := range charges {
		if c.Limit.Algorithm == limiter.SlidingLog {
			return limiter.ErrUnsupported
		}
	}
	return s.Store.Reset(ctx, charges)
}

// A LimitFunc that invents windows, and reconfigurations without end, fill no memory and make Reset no longer.
func TestResetAsksForABoundedNumberOfCounters(t *testing.T) {
	store := &countingResets{Store: newStore(t)}
	cfg := httplimit.Config{Store: store, Rules: []httplimit.Rule{plans()}}
	m := mustNew(t, cfg)
	for i := range 1000 {
		askedPlan(m, get(), fmt.Sprintf("5/%ds", 61+i))
		if i%50 == 49 {
			if err := m.Reconfigure(cfg); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := m.Reset(t.Context(), "plan", "ann"); err != nil {
		t.Fatal(err)
	}
	if got := store.charges; got < 2*64 || got > 2*300 {
		t.Errorf("Reset of 1,000 windows in 20 configurations askedPlan for %d counters, want those of the last few", got)
	}
}

type countingResets struct {
	limiter.Store
	charges int
}

func (s *countingResets) Reset(ctx context.Context, charges []limiter.Charge) error {
	s.charges += len(charges)
	return s.Store.Reset(ctx, charges)
}

// Requests of plans never seen before, Reset and Reconfigure at once; the race detector watches.
func TestPlansConcurrently(t *testing.T) {
	m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{plans(limiter.PerDay(5))}})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 80 {
				askedPlan(m, get(), fmt.Sprintf("5/%ds", 60+i))
				switch {
				case i%8 == g:
					if err := m.Reset(t.Context(), "plan", "ann"); err != nil {
						t.Errorf("Reset: %v", err)
					}
				case i%20 == g:
					if err := m.Reconfigure(httplimit.Config{Rules: []httplimit.Rule{plans(limiter.PerHour(5))}}); err != nil {
						t.Errorf("Reconfigure: %v", err)
					}
				}
			}
		})
	}
	wg.Wait()
}

func TestPeekLimit(t *testing.T) {
	m := mustNew(t, httplimit.Config{Store: withoutLogs{newStore(t)}, Rules: []httplimit.Rule{plans(limiter.PerDay(50))}})
	for range 7 {
		askedPlan(m, get(), "50/d")
	}
	tests := map[string]struct {
		rule, limit, user string
		remaining         int64
		wait              time.Duration
		fault             string
	}{
		"the client's plan":            {"plan", "50/d", "ann", 43, 0, ""},
		"one of the same counter":      {"plan", "100/d", "ann", 93, 0, ""},
		"one that it would be over":    {"plan", "5/d", "ann", 0, -1, ""},
		"one that nobody declared":     {"plan", "50/h", "ann", 50, 0, ""},
		"another client's":             {"plan", "50/d", "bob", 50, 0, ""},
		"suspended":                    {"plan", "0/d", "ann", 0, limiter.Never, ""},
		"suspended, on a foreign plan": {"plan", "0/m sliding-log", "ann", 0, limiter.Never, ""},
		"no rule":                      {"plam", "50/d", "ann", 0, 0, `no rule "plam"`},
		"nobody":                       {"plan", "50/d", "", 0, 0, "identity is empty"},
		"a limit that cannot run":      {"plan", "5/m sliding-log", "ann", 0, 0, "no logs here"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			limit, err := limiter.ParseLimit(tt.limit)
			if err != nil {
				t.Fatal(err)
			}
			for range 3 { // a look changes nothing
				v, err := m.PeekLimit(t.Context(), tt.rule, limit, tt.user)
				if tt.fault != "" {
					if err == nil || !strings.Contains(err.Error(), tt.fault) {
						t.Errorf("got %+v, %v, want an error with %q", v, err, tt.fault)
					}
					continue
				}
				allowed := tt.wait == 0
				if err != nil || v.Remaining != tt.remaining || v.Allowed != allowed || (v.RetryAfter > 0) == allowed ||
					tt.wait == limiter.Never && v.RetryAfter != limiter.Never || v.Source != httplimit.SourceStore {
					t.Errorf("got %+v, %v, want %d remaining, a wait of %v", v, err, tt.remaining, tt.wait)
				}
			}
		})
	}
	if v, err := m.PeekLimit(t.Context(), "plan", limiter.Limit{}, "ann"); err == nil {
		t.Errorf("the zero Limit: got %+v, want an error", v)
	}
	if v, err := m.Peek(t.Context(), "plan", "ann"); err != nil || v.Limit != limiter.PerMinute(1) || !v.Allowed {
		t.Errorf("Peek: got %+v, %v, want that of the rule's Limit, of which nothing is spent", v, err)
	}
}

// A look takes none of the windows that a LimitFunc may have.
func TestPeekLimitTakesNoWindow(t *testing.T) {
	m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{plans()}})
	for i := range 100 {
		if _, err := m.PeekLimit(t.Context(), "plan", limiter.Per(5, time.Duration(1+i)*time.Hour), "ann"); err != nil {
			t.Fatal(err)
		}
		r := get()
		r.Header.Set("X-User", "ann")
		r.Header.Set("X-Plan", fmt.Sprintf("5/%dh", 200+i))
		if _, err := m.PeekRequest(r); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []int{200, 429} {
		if got := askedPlan(m, get(), "1/d"); got != want {
			t.Errorf("request %d under a new plan: got %d, want %d", i+1, got, want)
		}
	}
}

func TestPeekLimitOfAStoreThatIsAway(t *testing.T) {
	closed := plans()
	closed.Failure = httplimit.FailClosed
	m := mustNew(t, httplimit.Config{Store: &scripted{err: errDown}, Rules: []httplimit.Rule{closed}})
	if v, err := m.PeekLimit(t.Context(), "plan", limiter.PerDay(5), "ann"); !errors.Is(err, errDown) {
		t.Errorf("FailClosed: got %+v, %v, want the store's error", v, err)
	}
	m = mustNew(t, httplimit.Config{Store: &scripted{err: errDown}, Instances: 5, Rules: []httplimit.Rule{plans()}})
	v, err := m.PeekLimit(t.Context(), "plan", limiter.PerDay(50), "ann")
	if err != nil || v.Source != httplimit.SourceLocal || v.Limit != limiter.PerDay(50) || v.Remaining != 10 {
		t.Errorf("FailLocal: got %+v, %v, want 10 of 50/d remaining in this process", v, err)
	}
}
