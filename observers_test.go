package httplimit_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// sums adds up what metrics would.
type sums struct {
	requests, refused, asked atomic.Int64
	mu                       sync.Mutex
	decisions                map[string]int64 // by rule and result
}

func (s *sums) Observe(_ context.Context, o *httplimit.Observation) {
	s.requests.Add(1)
	if o.Status != 0 {
		s.refused.Add(1)
	}
	if o.Store > 0 {
		s.asked.Add(1)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range o.Rules {
		s.decisions[o.Rules[i].Rule+" "+o.Rules[i].Result.String()]++
	}
}

func (s *sums) of(rule string) (all, judged int64) {
	for what, n := range s.decisions {
		if strings.HasPrefix(what, rule+" ") {
			all += n
			if what != rule+" unjudged" {
				judged += n
			}
		}
	}
	return all, judged
}

// TestSumsOfObservations: requests and decisions add up, whatever a deny cache answers, with many requests at once.
func TestSumsOfObservations(t *testing.T) {
	const callers, each, limit = 16, 50, 7
	even := httplimit.Rule{Name: "even", Key: httplimit.Everyone(), Limit: limiter.PerDay(1e6),
		When: func(r *http.Request) bool { return r.Header.Get("X-Even") != "" }}
	shadow := httplimit.Rule{Name: "shadow", Key: httplimit.ClientIP(), Limit: limiter.PerDay(3), Shadow: true}
	seen := &sums{decisions: make(map[string]int64)}
	m := mustNew(t, httplimit.Config{
		Store: denying(t), Observer: seen, Rules: []httplimit.Rule{even, shadow, ip(limiter.PerDay(limit))},
	})
	var wait sync.WaitGroup
	for range callers {
		wait.Go(func() {
			for i := range each {
				r := get()
				if i%2 == 0 {
					r.Header.Set("X-Even", "yes")
				}
				serveRequest(m, r)
			}
		})
	}
	wait.Wait()
	passed := seen.decisions["ip allowed"]
	if got := seen.requests.Load(); got != callers*each || seen.refused.Load() != got-passed {
		t.Errorf("got %d requests, %d of them refused, want %d, and all refused but the %d that ip allowed",
			got, seen.refused.Load(), callers*each, passed)
	}
	if passed < 1 || passed > limit {
		t.Errorf("ip allowed %d, want up to %d", passed, limit)
	}
	for rule, want := range map[string]int64{"even": callers * each / 2, "shadow": callers * each, "ip": callers * each} {
		if got, _ := seen.of(rule); got != want {
			t.Errorf("%s: got %d decisions, want %d: %v", rule, got, want, seen.decisions)
		}
	}
	// What was judged is what the store was asked about.
	_, judged := seen.of("shadow")
	if asked := seen.asked.Load(); judged != asked || asked == callers*each {
		t.Errorf("the shadow rule was judged %d times and the store asked %d times, want as many, and fewer than %d: %v",
			judged, asked, callers*each, seen.decisions)
	}
}

// TestAnObserverThatPanics: the panic is the service's to answer, the request counts, and the next one is sound.
func TestAnObserverThatPanics(t *testing.T) {
	mine := errors.New("mine")
	panics := true
	var seen recorder
	after := watch(func(ctx context.Context, o *httplimit.Observation) { seen.Observe(ctx, o) })
	before := watch(func(context.Context, *httplimit.Observation) {
		if panics {
			panic(mine)
		}
	})
	rule := ip(limiter.PerDay(3))
	rule.CountStatus = func(status int) bool { return status != http.StatusOK }
	m := mustNew(t, httplimit.Config{Observer: httplimit.Observers(before, after), Rules: []httplimit.Rule{rule}})
	caught := func(f func()) (value any) {
		defer func() { value = recover() }()
		f()
		return nil
	}
	if got := caught(func() { serve(m, "192.0.2.1:1") }); got != mine {
		t.Errorf("a request: recovered %v, want what the Observer panics with", got)
	}
	if got := caught(func() { m.Check(foreign{httplimit.HTTPRequest(get())}) }); got != mine {
		t.Errorf("Check: recovered %v, want what the Observer panics with", got)
	}
	if got := caught(func() { _, _ = m.Allow(t.Context(), "ip", "192.0.2.9") }); got != mine {
		t.Errorf("Allow: recovered %v, want what the Observer panics with", got)
	}
	if got := remaining(t, m, "ip"); got != 1 {
		t.Errorf("after two requests: %d left of 3, want 1", got)
	}
	panics = false
	for range 3 {
		if w := serve(m, "192.0.2.7:1"); w.Code != http.StatusOK {
			t.Fatalf("got %d, want 200", w.Code)
		}
	}
	if got := seen.last(t); seen.calls != 3 || len(got.Rules) != 1 || got.Rules[0].Key != "192.0.2.7" {
		t.Errorf("%d calls, the last with %+v, want 3, and the rule of 192.0.2.7", seen.calls, got)
	}
}

func TestObserverIsToldOfAllowWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), userKey{}, "ann"))
	cancel() // Allow decides all the same
	var contexts []context.Context
	var seen recorder
	m := mustNew(t, httplimit.Config{
		Observer: watch(func(ctx context.Context, o *httplimit.Observation) {
			contexts = append(contexts, ctx)
			seen.Observe(ctx, o)
		}),
		Rules: []httplimit.Rule{
			{Name: "login", Key: httplimit.Compose(httplimit.ClientIP(), httplimit.Header("X-User")), Limit: limiter.PerDay(1)},
		},
	})
	for i, want := range []int{0, http.StatusTooManyRequests} {
		if _, err := m.Allow(ctx, "login", "192.0.2.7", "ann"); err != nil {
			t.Fatal(err)
		}
		got := seen.last(t)
		if got.Request != nil || got.Status != want || got.Store == 0 || len(got.Rules) != 1 ||
			got.Rules[0].Key != "192.0.2.7:ann" || got.Rules[0].NoKey {
			t.Errorf("call %d: got %+v, want no Request, status %d, and the key of ann", i+1, got, want)
		}
		if contexts[i] != ctx {
			t.Errorf("call %d: got the context %v, want the caller's", i+1, contexts[i])
		}
	}
	_, _ = m.Allow(ctx, "nobody's")
	_, _ = m.Allow(ctx, "login", "", "")
	_, _ = m.Peek(ctx, "login", "192.0.2.7", "ann")
	if seen.calls != 2 {
		t.Errorf("after calls that decide nothing: told %d times, want 2", seen.calls)
	}
}

func TestObservers(t *testing.T) {
	var order []string
	named := func(name string) httplimit.Observer {
		return watch(func(_ context.Context, o *httplimit.Observation) { order = append(order, name+" "+o.Rules[0].Rule) })
	}
	a, b := named("a"), named("b")
	for name, tt := range map[string]struct {
		all  []httplimit.Observer
		want []string
	}{
		"none":     {nil, nil},
		"nil":      {[]httplimit.Observer{nil, nil}, nil},
		"one":      {[]httplimit.Observer{nil, a}, []string{"a ip"}},
		"in order": {[]httplimit.Observer{b, nil, a, b}, []string{"b ip", "a ip", "b ip"}},
		"nested": {
			[]httplimit.Observer{httplimit.Observers(a, b), httplimit.Observers(), a},
			[]string{"a ip", "b ip", "a ip"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			order = nil
			given := slices.Clone(tt.all)
			all := httplimit.Observers(tt.all...)
			if (all == nil) != (tt.want == nil) {
				t.Errorf("got %v, want nil exactly if there is nobody to tell", all)
			}
			clear(tt.all) // the caller's own
			serve(mustNew(t, httplimit.Config{Observer: all, Rules: []httplimit.Rule{ip(limiter.PerDay(5))}}), "192.0.2.7:1")
			if !slices.Equal(order, tt.want) {
				t.Errorf("told %q, want %q, of %v", order, tt.want, given)
			}
		})
	}
}

// TestObserverIsNoNilPointer: it would panic at every request.
func TestObserverIsNoNilPointer(t *testing.T) {
	var none *recorder
	for name, observer := range map[string]httplimit.Observer{
		"alone":    none,
		"of two":   httplimit.Observers(&recorder{}, none),
		"of three": httplimit.Observers(&recorder{}, httplimit.Observers(&recorder{}, none)),
	} {
		t.Run(name, func(t *testing.T) {
			err := httplimit.Config{Observer: observer, Rules: []httplimit.Rule{ip(limiter.PerDay(5))}}.Validate()
			var fault *httplimit.ConfigError
			if !errors.As(err, &fault) || fault.Field != "Observer" ||
				!strings.Contains(err.Error(), "*httplimit_test.recorder") {
				t.Errorf("got %v, want a fault of Observer with its type", err)
			}
		})
	}
}

func TestReconfigureReplacesTheObserver(t *testing.T) {
	var first, second recorder
	cfg := httplimit.Config{Observer: &first, Rules: []httplimit.Rule{ip(limiter.PerDay(5))}}
	m := mustNew(t, cfg)
	serve(m, "192.0.2.7:1")
	for _, next := range []httplimit.Observer{&second, nil} {
		cfg.Observer = next
		if err := m.Reconfigure(cfg); err != nil {
			t.Fatal(err)
		}
		serve(m, "192.0.2.7:1")
	}
	if first.calls != 1 || second.calls != 1 {
		t.Errorf("told %d and %d times, want once each", first.calls, second.calls)
	}
}

func TestNamesOfResultsAndSources(t *testing.T) {
	var names []string
	for r := httplimit.ResultUnjudged; r <= httplimit.ResultClosed+1; r++ {
		text, err := r.MarshalText()
		if err != nil || string(text) != r.String() {
			t.Errorf("MarshalText of %v: got %q, %v", r, text, err)
		}
		names = append(names, r.String())
		var back httplimit.Result
		if err := back.UnmarshalText(text); r <= httplimit.ResultClosed && (err != nil || back != r) ||
			r > httplimit.ResultClosed && err == nil {
			t.Errorf("UnmarshalText of %q: got %v, %v", text, back, err)
		}
	}
	for s := httplimit.SourceNone; s <= httplimit.SourceLocal+1; s++ {
		names = append(names, s.String())
	}
	want := "[unjudged allowed refused shadow_refused banned open closed unknown none store cache local unknown]"
	if got := fmt.Sprint(names); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestTwoMiddlewaresTellOneObserver: each its own rules, with its own namespace.
func TestTwoMiddlewaresTellOneObserver(t *testing.T) {
	var seen recorder
	var handler http.Handler = http.NotFoundHandler()
	for _, name := range []string{"inner", "outer"} {
		m := mustNew(t, httplimit.Config{
			Namespace: name, Observer: &seen, Rules: []httplimit.Rule{ip(limiter.PerDay(5))},
		})
		handler = m.Handler(handler)
	}
	handler.ServeHTTP(httptest.NewRecorder(), get())
	if len(seen.all) != 2 || seen.all[0].Namespace != "outer" || seen.all[1].Namespace != "inner" {
		t.Errorf("got %+v, want one of outer and one of inner", seen.all)
	}
}
