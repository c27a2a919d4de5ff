package httplimit_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
	"github.com/httplimit/httplimit/limiter/storekit"
)

// bookkeeper is a CostObserver that writes down what it is told.
type bookkeeper struct {
	recorder
	changes []string
	ended   bool // a context was given that has ended
}

func (b *bookkeeper) ObserveCost(ctx context.Context, c httplimit.CostChange) {
	b.changes = append(b.changes, fmt.Sprintf("%s/%s %v %+d", c.Namespace, c.Rule, c.Result, c.Units))
	b.ended = b.ended || ctx.Err() != nil
}

// TestCostObserver is told of what Spend charges, of what it gives back, and of refunds, once each.
func TestCostObserver(t *testing.T) {
	day := limiter.PerDay(10)
	rules := map[string]httplimit.Rule{
		"plain":  {Limit: day},
		"shadow": {Limit: limiter.PerDay(0), Shadow: true},
		"failed": {Limit: day, CountStatus: func(status int) bool { return status >= 400 }},
		"places": {Limit: limiter.Per(3, time.Minute), InFlight: true},
		"double": {Limit: day, Cost: func(*http.Request) (int64, error) { return 2, nil }},
	}
	for name, tt := range map[string]struct {
		rules []string
		store limiter.Store
		spend []int64 // for the first rule
		want  []string
	}{
		"nothing later": {rules: []string{"plain"}},
		"Spend":         {rules: []string{"plain"}, spend: []int64{4}, want: []string{"shop/plain allowed +4"}},
		"Spend in shadow": {
			rules: []string{"shadow"}, spend: []int64{4}, want: []string{"shop/shadow shadow_refused +4"},
		},
		"Spend of nothing": {rules: []string{"plain"}, spend: []int64{0}},
		"a part back": {
			rules: []string{"plain"}, spend: []int64{4, -3},
			want: []string{"shop/plain allowed +4", "shop/plain allowed -3"},
		},
		"more back than was charged": {
			rules: []string{"double"}, spend: []int64{-9}, want: []string{"shop/double allowed -2"},
		},
		"CountStatus": {rules: []string{"failed"}, want: []string{"shop/failed allowed -1"}},
		"CountStatus and Spend": {
			rules: []string{"failed", "plain"}, spend: []int64{4},
			want: []string{"shop/failed allowed +4", "shop/failed allowed -5"},
		},
		"InFlight": {rules: []string{"plain", "places"}, want: []string{"shop/places allowed -1"}},
		"in an outage": {
			rules: []string{"failed", "places"}, store: &scripted{err: errDown},
			want: []string{"shop/failed allowed -1", "shop/places allowed -1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var seen bookkeeper
			cfg := httplimit.Config{
				Namespace: "shop", Expose: tt.spend != nil, Store: tt.store,
				Observer: httplimit.Observers(new(recorder), httplimit.Observers(nil, new(recorder), &seen)),
			}
			for _, name := range tt.rules {
				r := rules[name]
				r.Name, r.Key = name, httplimit.ClientIP()
				cfg.Rules = append(cfg.Rules, r)
			}
			ctx, leave := context.WithCancel(t.Context())
			mustNew(t, cfg).Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				for _, n := range tt.spend {
					if err := httplimit.Spend(r.Context(), tt.rules[0], n); err != nil {
						t.Error(err)
					}
				}
				w.WriteHeader(http.StatusOK)
				leave()
			})).ServeHTTP(httptest.NewRecorder(), get().WithContext(ctx))
			if !slices.Equal(seen.changes, tt.want) {
				t.Errorf("\n got %q\nwant %q", seen.changes, tt.want)
			}
			if seen.calls != 1 || seen.ended {
				t.Errorf("%d observations, want 1; a context that has ended: %t", seen.calls, seen.ended)
			}
		})
	}
}

// TestCostsThatTheStoreDidNotTake are not told.
func TestCostsThatTheStoreDidNotTake(t *testing.T) {
	var seen bookkeeper
	store := &scripted{}
	m := mustNew(t, httplimit.Config{Store: store, Observer: &seen, Expose: true, Rules: []httplimit.Rule{{
		Name: "failed", Key: httplimit.ClientIP(), Limit: limiter.PerDay(10), Failure: httplimit.FailOpen,
		CountStatus: func(int) bool { return false },
	}}})
	m.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		store.err = errDown
		for _, n := range []int64{3, -1} {
			if httplimit.Spend(r.Context(), "failed", n) == nil {
				t.Errorf("Spend of %d: no error", n)
			}
		}
	})).ServeHTTP(httptest.NewRecorder(), get())
	if len(seen.changes) != 0 {
		t.Errorf("got %q, want nothing", seen.changes)
	}
}

// TestObservationTellsWhetherTheStoreIsRemote, also of one in a wrapper.
func TestObservationTellsWhetherTheStoreIsRemote(t *testing.T) {
	memory, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		store limiter.Store
		want  bool
	}{
		"the default":         {nil, false},
		"a memstore":          {memory, false},
		"in a wrapper":        {storekit.WithTimeout(memory, time.Minute), false},
		"another":             {&scripted{}, true},
		"another in two":      {storekit.WithFallback(storekit.WithTimeout(&scripted{}, 0), memory, 1), true},
		"that wraps itself":   {&wrapped{}, true},
		"that wraps a memory": {&wrapped{memory}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var seen recorder
			serve(mustNew(t, httplimit.Config{
				Store: tt.store, Observer: &seen, Rules: []httplimit.Rule{ip(limiter.PerDay(5))},
			}), "192.0.2.7:1")
			if got := seen.last(t).Remote; got != tt.want {
				t.Errorf("got %t, want %t", got, tt.want)
			}
		})
	}
}

// wrapped is a store around another one, or around itself.
type wrapped struct{ limiter.Store }

func (w *wrapped) Unwrap() limiter.Store {
	if w.Store == nil {
		return w
	}
	return w.Store
}

func (w *wrapped) Take(ctx context.Context, charges []limiter.Charge) (bool, error) {
	if w.Store == nil {
		return (&scripted{}).Take(ctx, charges)
	}
	return w.Store.Take(ctx, charges)
}
