package httplimit_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/kvstore"
)

// watch is an Observer of one function.
type watch func(ctx context.Context, o *httplimit.Observation)

func (f watch) Observe(ctx context.Context, o *httplimit.Observation) { f(ctx, o) }

// TestObservationOfARequest: one for all rules, before the handler is called, with the request and its context.
func TestObservationOfARequest(t *testing.T) {
	type key struct{}
	ways := map[string]func(m *httplimit.Middleware, r *http.Request, served func()){
		"Handler": func(m *httplimit.Middleware, r *http.Request, served func()) {
			m.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served() })).
				ServeHTTP(httptest.NewRecorder(), r)
		},
		"Check": func(m *httplimit.Middleware, r *http.Request, served func()) {
			o := m.Check(foreign{httplimit.HTTPRequest(r)})
			if o.Status() == 0 {
				served()
			}
			o.Settle(http.StatusOK)
		},
		"CheckHTTP": func(m *httplimit.Middleware, r *http.Request, served func()) {
			o := m.CheckHTTP(r, "/items", key{}, "a framework's")
			if o.Status() == 0 {
				served()
			}
			o.Release()
		},
	}
	for name, send := range ways {
		t.Run(name, func(t *testing.T) {
			ctx := context.WithValue(t.Context(), userKey{}, "ann")
			var order []string
			observer := watch(func(got context.Context, o *httplimit.Observation) {
				order = append(order, fmt.Sprintf("status %d, %d rules", o.Status, len(o.Rules)))
				if got != ctx {
					t.Errorf("the context is %v, want the request's", got)
				}
				if framework := o.Request.HTTP().Context().Value(key{}); name == "CheckHTTP" && framework != "a framework's" {
					t.Errorf("got %v of the framework, want what a KeyFunc is given", framework)
				}
				if o.Request.Method() != http.MethodGet || o.Request.Values("X-Tenant")[0] != "acme" ||
					o.Request.HTTP().URL.Path != "/" || o.Namespace != "shop" {
					t.Errorf("got %s %q in the namespace %q, want GET, acme and shop",
						o.Request.Method(), o.Request.Values("X-Tenant"), o.Namespace)
				}
			})
			shadow := httplimit.Rule{Name: "shadow", Key: httplimit.Everyone(), Limit: limiter.PerDay(1), Shadow: true}
			private := httplimit.Rule{Name: "tenant", Key: httplimit.Header("X-Tenant"), Limit: limiter.PerDay(2), Private: true}
			m := mustNew(t, httplimit.Config{
				Namespace: "shop", Observer: observer, Rules: []httplimit.Rule{ip(limiter.PerDay(9)), shadow, private},
			})
			for range 3 {
				r := get().WithContext(ctx)
				r.Header.Set("X-Tenant", "acme")
				send(m, r, func() { order = append(order, "handler") })
			}
			want := []string{"status 0, 3 rules", "handler", "status 0, 3 rules", "handler", "status 429, 3 rules"}
			if !slices.Equal(order, want) {
				t.Errorf("got  %q\nwant %q", order, want)
			}
		})
	}
}

// TestObservedKeys are those of the store, in clear only where the store has them so.
func TestObservedKeys(t *testing.T) {
	missing := httplimit.Header("X-Missing")
	for name, tt := range map[string]struct {
		key, noKey httplimit.Key
		secret     []byte
		want       string // "#": a hash
		noKeyWant  bool
	}{
		"an address": {key: httplimit.ClientIP(), want: "192.0.2.1"},
		"parts": {
			key:  httplimit.Compose(httplimit.ClientIP(), httplimit.Header("X-One")),
			want: "192.0.2.1:a%2Fb",
		},
		"everyone":                {key: httplimit.Everyone()},
		"NoKey":                   {key: missing, want: "%N:192.0.2.1", noKeyWant: true},
		"nobody":                  {key: missing, noKey: missing, want: "%U", noKeyWant: true},
		"ambiguous":               {key: httplimit.Header("X-Two"), want: "%M", noKeyWant: true},
		"ambiguous, by NoKey":     {key: missing, noKey: httplimit.Header("X-Two"), want: "%M", noKeyWant: true},
		"another alternative":     {key: httplimit.FirstOf(missing, httplimit.ClientIP()), want: "%K2:192.0.2.1"},
		"a secret":                {key: httplimit.APIKey("X-One"), want: "#"},
		"under a KeySecret":       {key: httplimit.ClientIP(), secret: keySecret, want: "#"},
		"NoKey under one":         {key: missing, secret: keySecret, want: "#", noKeyWant: true},
		"ambiguous, under one":    {key: httplimit.Header("X-Two"), secret: keySecret, want: "#", noKeyWant: true},
		"a preflight's":           {key: httplimit.Header("X-Missing"), want: "%P:%N:192.0.2.1", noKeyWant: true},
		"a preflight's own":       {key: httplimit.ClientIP(), want: "%P:192.0.2.1"},
		"a preflight's, nobody's": {key: missing, noKey: missing, want: "%P:%U", noKeyWant: true},
	} {
		t.Run(name, func(t *testing.T) {
			var seen recorder
			store := &scripted{}
			m := mustNew(t, httplimit.Config{
				Store: store, KeySecret: tt.secret, Observer: &seen,
				Rules: []httplimit.Rule{{Name: "r", Key: tt.key, NoKey: tt.noKey, Limit: limiter.PerDay(5)}},
			})
			r := get()
			if strings.HasPrefix(tt.want, "%P") {
				r = preflight()
			}
			r.Header["X-One"], r.Header["X-Two"] = []string{"a/b"}, []string{"a", "b"}
			serveRequest(m, r)
			got := seen.last(t).Rules[0]
			if stored := store.charges()[0].Key; got.Key != stored {
				t.Errorf("key: got %q, want the store's, %q", got.Key, stored)
			}
			if got.Key != tt.want && !(tt.want == "#" && strings.HasPrefix(got.Key, "#")) || got.NoKey != tt.noKeyWant {
				t.Errorf("got key %q, NoKey %t, want %q, %t", got.Key, got.NoKey, tt.want, tt.noKeyWant)
			}
		})
	}
}

// TestObservedVerdicts: what a rule says, whether clients see it or not.
func TestObservedVerdicts(t *testing.T) {
	var seen recorder
	rule := ip(limiter.PerMinute(5))
	rule.Private = true
	rule.Cost = func(*http.Request) (int64, error) { return 2, nil }
	rule.LimitFunc = func(*http.Request) (limiter.Limit, error) { return limiter.PerMinute(3), nil }
	m := mustNew(t, httplimit.Config{
		Store: &scripted{answer: func(c *limiter.Charge) {
			c.Decision = limiter.Decision{Remaining: 1, RetryAfter: time.Second, ResetAfter: time.Minute}
		}},
		Observer: &seen, Rules: []httplimit.Rule{rule},
	})
	serve(m, "192.0.2.7:1")
	got := seen.last(t)
	want := limiter.Decision{Remaining: 1, RetryAfter: time.Second, ResetAfter: time.Minute}
	if v := got.Rules[0].Verdict; got.Status != http.StatusTooManyRequests || v.Rule != "ip" || v.Cost != 2 ||
		v.Limit != limiter.PerMinute(3) || v.Source != httplimit.SourceStore || v.Decision != want {
		t.Errorf("got status %d and %+v, want 429 and the store's decision on 2 of 3/m", got.Status, v)
	}
	if got.Rules[0].Result != httplimit.ResultRefused {
		t.Errorf("got %v, want refused", got.Rules[0].Result)
	}
}

// TestObservationWithoutRules: a request to which no rule applies is a request, and passes.
func TestObservationWithoutRules(t *testing.T) {
	never := ip(limiter.PerDay(1))
	never.When = func(*http.Request) bool { return false }
	var seen recorder
	m := mustNew(t, httplimit.Config{Observer: &seen, Rules: []httplimit.Rule{never}})
	serve(m, "192.0.2.7:1")
	if got := seen.last(t); seen.calls != 1 || got.Status != 0 || len(got.Rules) != 0 || got.Store != 0 ||
		got.Request == nil {
		t.Errorf("%d calls, the last with %+v, want one with nothing but the request", seen.calls, got)
	}
}

// TestObservedStoreTime is that of all rules together, and 0 where the store was not asked, not where it was quick.
func TestObservedStoreTime(t *testing.T) {
	const takes = 30 * time.Millisecond
	refuse := func(c *limiter.Charge) { c.Decision = limiter.Decision{RetryAfter: time.Second} }
	remember := func(c *limiter.Charge) { refuse(c); c.Cached = true }
	zero := ip(limiter.PerDay(0))
	for name, tt := range map[string]struct {
		store limiter.Store
		rule  httplimit.Rule
		want  time.Duration
	}{
		"slow":                   {&slow{&scripted{}, takes}, ip(limiter.PerDay(5)), takes},
		"slow and refused":       {&slow{&scripted{answer: refuse}, takes}, ip(limiter.PerDay(5)), takes},
		"slow and broken":        {&slow{&scripted{err: errDown}, takes}, ip(limiter.PerDay(5)), takes},
		"quicker than the clock": {&scripted{}, ip(limiter.PerDay(5)), 1},
		"refused from memory":    {&scripted{answer: remember}, ip(limiter.PerDay(5)), 0},
		"a limit of 0":           {nil, zero, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var seen recorder
				all := httplimit.Rule{Name: "all", Key: httplimit.Everyone(), Limit: limiter.PerDay(9), Shadow: true}
				m := mustNew(t, httplimit.Config{Store: tt.store, Observer: &seen, Rules: []httplimit.Rule{tt.rule, all}})
				serve(m, "192.0.2.7:1")
				if got := seen.last(t); got.Store != tt.want || len(got.Rules) != 2 {
					t.Errorf("got %v for %d rules, want %v for 2", got.Store, len(got.Rules), tt.want)
				}
				serve(m, "192.0.2.7:1") // in the memory that the first has left
				if got := seen.last(t).Store; got != tt.want {
					t.Errorf("the second: got %v, want %v", got, tt.want)
				}
			})
		})
	}
}

// slow is a store that takes its time.
type slow struct {
	*scripted
	takes time.Duration
}

func (s *slow) Take(ctx context.Context, charges []limiter.Charge) (bool, error) {
	time.Sleep(s.takes)
	return s.scripted.Take(ctx, charges)
}

// TestNothingUnjudgedIsAllowed: behind a deny cache, behind a limit of 0, and where another rule answers 503.
func TestNothingUnjudgedIsAllowed(t *testing.T) {
	rule := func(name string, limit limiter.Limit, change ...func(*httplimit.Rule)) httplimit.Rule {
		r := httplimit.Rule{Name: name, Key: httplimit.ClientIP(), Limit: limit}
		for _, f := range change {
			f(&r)
		}
		return r
	}
	shadow := func(r *httplimit.Rule) { r.Shadow = true }
	closed := func(r *httplimit.Rule) { r.Failure = httplimit.FailClosed }
	open := func(r *httplimit.Rule) { r.Failure = httplimit.FailOpen }
	one, many, none := limiter.PerDay(1), limiter.PerDay(9), limiter.PerDay(0)
	down := &scripted{err: errDown}
	for name, tt := range map[string]struct {
		store limiter.Store
		rules []httplimit.Rule
		want  []string // of the second request
	}{
		"a deny cache": {denying(t), []httplimit.Rule{rule("a", one), rule("b", many), rule("s", one, shadow)},
			[]string{"a refused by cache", "b unjudged by none", "s unjudged by none"}},
		"a limit of 0": {nil, []httplimit.Rule{rule("b", many), rule("zero", none), rule("s", one, shadow)},
			[]string{"b unjudged by none", "zero refused by cache", "s unjudged by none"}},
		"limits of 0": {nil, []httplimit.Rule{rule("zero", none), rule("also", none), rule("s", none, shadow)},
			[]string{"zero refused by cache", "also refused by cache", "s shadow_refused by cache"}},
		"a limit of 0 in an outage": {down,
			[]httplimit.Rule{rule("zero", none), rule("local", many), rule("closed", many, closed)},
			[]string{"zero refused by local", "local unjudged by none", "closed unjudged by none"}},
		"a rule that is closed": {down,
			[]httplimit.Rule{
				rule("local", many), rule("closed", many, closed), rule("open", many, open), rule("s", one, shadow),
			},
			[]string{"local unjudged by none", "closed closed by none", "open open by none", "s unjudged by none"}},
		"a closed rule in shadow": {down, []httplimit.Rule{rule("local", one), rule("s", one, closed, shadow)},
			[]string{"local refused by local", "s open by none"}},
	} {
		t.Run(name, func(t *testing.T) {
			var seen recorder
			m := mustNew(t, httplimit.Config{Store: tt.store, Observer: &seen, Rules: tt.rules})
			serve(m, "192.0.2.7:1")
			serve(m, "192.0.2.7:1")
			serve(m, "192.0.2.7:1")
			var got []string
			for _, r := range seen.last(t).Rules {
				got = append(got, fmt.Sprintf("%s %v by %v", r.Rule, r.Result, r.Source))
				if empty := (limiter.Decision{Allowed: true}); r.Result == httplimit.ResultUnjudged && r.Decision != empty {
					t.Errorf("%s was not judged and has %+v", r.Rule, r.Decision)
				}
				for _, given := range tt.rules {
					if given.Name == r.Rule && r.Limit != given.Limit {
						t.Errorf("%s: got the limit %v, want %v", r.Rule, r.Limit, given.Limit)
					}
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

// denying returns a store with a deny cache, whose clock stands still.
func denying(t *testing.T) limiter.Store {
	t.Helper()
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	store, err := kvstore.New(&countingKV{counts: make(map[string]int64)}, kvstore.Config{
		Now: func() time.Time { return now }, Timeout: time.Minute, // of real time: a busy machine is no outage
	})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// countingKV is a [kvstore.KV] in which nothing expires.
type countingKV struct {
	mu     sync.Mutex
	counts map[string]int64
}

func (m *countingKV) Get(_ context.Context, keys ...string) ([]int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	counts := make([]int64, len(keys))
	for i, key := range keys {
		counts[i] = m.counts[key]
	}
	return counts, nil
}

func (m *countingKV) Add(_ context.Context, key string, delta int64, _ time.Duration) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts[key] = max(0, m.counts[key]+delta)
	return m.counts[key], nil
}
