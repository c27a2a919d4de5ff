package httplimit_test

import (
	"context"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

func TestFromListsAllMiddlewares(t *testing.T) {
	outer := mustNew(
		t,
		httplimit.Config{
			Expose: true,
			Rules:  []httplimit.Rule{{Name: "outer", Key: httplimit.Everyone(), Limit: limiter.PerDay(9)}},
		},
	)
	inner := mustNew(t, httplimit.Config{Expose: true, Rules: []httplimit.Rule{
		{Name: "inner", Key: httplimit.Everyone(), Limit: limiter.PerDay(5)},
		{
			Name:   "shadow",
			Key:    httplimit.Everyone(),
			Limit:  limiter.PerDay(1),
			Shadow: true,
			Cost:   func(*http.Request) (int64, error) { return 2, nil },
		},
	}})
	var got []httplimit.Verdict
	outer.Handler(inner.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got = httplimit.Verdicts(r.Context())
	}))).ServeHTTP(httptest.NewRecorder(), get())
	if len(got) != 3 {
		t.Fatalf("got %d verdicts, want 3: %+v", len(got), got)
	}
	for i, want := range []struct {
		rule      string
		remaining int64
		allowed   bool
	}{{"outer", 8, true}, {"inner", 4, true}, {"shadow", 1, false}} {
		if v := got[i]; v.Rule != want.rule || v.Remaining != want.remaining || v.Allowed != want.allowed {
			t.Errorf("verdict %d: got %+v, want %+v", i, v, want)
		}
	}
	if got := httplimit.Verdicts(context.Background()); got != nil {
		t.Errorf("From without a middleware: got %v, want nil", got)
	}
}

func TestFromNeedsExpose(t *testing.T) {
	m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{ip(limiter.PerDay(5))}})
	r := get()
	m.Handler(http.HandlerFunc(func(_ http.ResponseWriter, got *http.Request) {
		if got != r || httplimit.Verdicts(got.Context()) != nil {
			t.Error("the request was copied without Expose")
		}
		if err := httplimit.Spend(got.Context(), "ip", -1); err == nil || !strings.Contains(err.Error(), "Expose") {
			t.Errorf("Spend of -1 without Expose: got %v, want an error that names it", err)
		}
		if err := httplimit.Spend(got.Context(), "ip", 1); err == nil || !strings.Contains(err.Error(), "Expose") {
			t.Errorf("Spend: got %v, want an error that names Expose", err)
		}
	})).ServeHTTP(httptest.NewRecorder(), r)
}

func TestSpendIsExactUnderConcurrency(t *testing.T) {
	m := mustNew(t, httplimit.Config{Expose: true, Rules: []httplimit.Rule{ip(limiter.PerDay(1_000_000))}})
	handler := m.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if err := httplimit.Spend(r.Context(), "ip", 25); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if got := httplimit.Verdicts(r.Context())[0].Cost; got != 101 {
			t.Errorf("cost of the request: got %d, want 1 + 4 x 25", got)
		}
	}))
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() { handler.ServeHTTP(httptest.NewRecorder(), get()) })
	}
	wg.Wait()
	if got := 1_000_000 - remaining(t, m, "ip"); got != 50*101 {
		t.Errorf("spent: got %d, want %d", got, 50*101)
	}
}

func TestSpendIsNeverRefusedAndLaterRequestsPay(t *testing.T) {
	m := mustNew(t, httplimit.Config{Expose: true, Rules: []httplimit.Rule{ip(limiter.PerDay(10))}})
	var kept context.Context
	m.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		kept = r.Context()
		if err := httplimit.Spend(kept, "ip", 0); err != nil {
			t.Errorf("Spend of nothing: %v", err)
		}
		for _, n := range []int64{1, -1} {
			if err := httplimit.Spend(kept, "other", n); err == nil {
				t.Errorf("Spend of %d for an unknown rule: got no error", n)
			}
		}
	})).ServeHTTP(httptest.NewRecorder(), get())
	// A goroutine that the handler left behind may still spend.
	if err := httplimit.Spend(kept, "ip", 100); err != nil {
		t.Fatal(err)
	}
	if w := serveRequest(m, get()); w.Code != http.StatusTooManyRequests {
		t.Errorf("the next request: got %d, want 429", w.Code)
	}
}

func TestCountStatusGivesBackWhatWasSpentToo(t *testing.T) {
	rule := ip(limiter.PerDay(100))
	rule.CountStatus = func(status int) bool { return status >= 400 }
	m := mustNew(t, httplimit.Config{Expose: true, Rules: []httplimit.Rule{rule}})
	m.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if err := httplimit.Spend(r.Context(), "ip", 30); err != nil {
			t.Error(err)
		}
	})).ServeHTTP(httptest.NewRecorder(), get())
	if got := remaining(t, m, "ip"); got != 100 {
		t.Errorf("remaining: got %d, want 100", got)
	}
}

func TestWhatARuleOnTrialOrAnOpenOneWasSpentIsGivenBackToo(t *testing.T) {
	store := &scripted{answer: func(c *limiter.Charge) { c.Allowed = c.Mode == limiter.Force }}
	never := func(int) bool { return false }
	m := mustNew(t, httplimit.Config{Expose: true, Store: store, Rules: []httplimit.Rule{
		{Name: "shadow", Key: httplimit.Everyone(), Limit: limiter.PerDay(5), Shadow: true, CountStatus: never},
	}})
	m.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if err := httplimit.Spend(r.Context(), "shadow", 10); err != nil {
			t.Error(err)
		}
	})).ServeHTTP(httptest.NewRecorder(), get())
	var costs []int64
	for _, c := range store.charges() {
		costs = append(costs, c.Cost)
	}
	if want := []int64{1, 10, -10}; !slices.Equal(costs, want) {
		t.Errorf("costs that the store was asked for: got %v, want %v", costs, want)
	}
}

func TestSpendSaturates(t *testing.T) {
	rule := ip(limiter.PerDay(100))
	rule.CountStatus = func(int) bool { return false }
	m := mustNew(t, httplimit.Config{Expose: true, Rules: []httplimit.Rule{rule}})
	if _, err := m.Allow(context.Background(), "ip", "192.0.2.1"); err != nil { // somebody else behind the address
		t.Fatal(err)
	}
	m.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		for range 2 {
			if err := httplimit.Spend(r.Context(), "ip", math.MaxInt64); err != nil {
				t.Error(err)
			}
		}
		// One unit is that of somebody else.
		if got := httplimit.Verdicts(r.Context())[0].Cost; got != limiter.MaxCount-1 {
			t.Errorf("cost: got %d, want %d", got, int64(limiter.MaxCount-1))
		}
	})).ServeHTTP(httptest.NewRecorder(), get())
	if got := remaining(t, m, "ip"); got != 99 {
		t.Errorf("remaining after all was given back: got %d, want 99, what somebody else has spent", got)
	}
}
