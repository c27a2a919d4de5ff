package httplimit_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/kvstore"
	"github.com/httplimit/httplimit/limiter/memstore"
)

// atOnce is a rule that lets n requests of an address be under way.
func atOnce(n int64) httplimit.Rule {
	return httplimit.Rule{Name: "streams", Key: httplimit.ClientIP(), Limit: limiter.PerMinute(n), InFlight: true}
}

// ridesOf serves by m. Each admitted request waits, and then does what end sends it.
func ridesOf(m *httplimit.Middleware) (
	start func() (end chan<- func(), w *httptest.ResponseRecorder, done <-chan any),
) {
	admitted := make(chan chan func())
	handler := m.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		end := make(chan func())
		admitted <- end
		(<-end)()
	}))
	return func() (chan<- func(), *httptest.ResponseRecorder, <-chan any) {
		w, done := httptest.NewRecorder(), make(chan any, 1)
		go func() {
			defer func() { done <- recover() }()
			handler.ServeHTTP(w, get())
		}()
		select {
		case end := <-admitted:
			return end, w, done
		case value := <-done:
			done := make(chan any, 1)
			done <- value
			return nil, w, done
		}
	}
}

func used(t *testing.T, m *httplimit.Middleware, rule string) int64 {
	t.Helper()
	v, err := m.Peek(t.Context(), rule, "192.0.2.1")
	if err != nil {
		t.Fatal(err)
	}
	return v.Limit.Requests - v.Remaining
}

func TestInFlightIsALimitOnRequestsAtOnce(t *testing.T) {
	ends := map[string]func(){
		"returns":              func() {},
		"panics":               func() { panic("broken") },
		"aborts":               func() { panic(http.ErrAbortHandler) },
		"ends its goroutine":   runtime.Goexit,
		"returns much later":   func() { time.Sleep(59 * time.Second) },
		"returns too late":     func() { time.Sleep(70 * time.Second) },
		"returns a week later": func() { time.Sleep(7 * 24 * time.Hour) },
	}
	for name, how := range ends {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := ridesOf(mustNew(t, httplimit.Config{Rules: []httplimit.Rule{atOnce(2)}}))
				for round := range 3 {
					first, _, firstDone := start()
					second, _, secondDone := start()
					if _, refused, _ := start(); refused.Code != http.StatusTooManyRequests {
						t.Fatalf("round %d: a third at once: got %d, want 429", round, refused.Code)
					}
					first <- how
					<-firstDone
					third, w, thirdDone := start()
					if third == nil {
						t.Fatalf("round %d: when one has ended: got %d, want it let in", round, w.Code)
					}
					third <- func() {}
					second <- func() {}
					<-secondDone
					<-thirdDone
				}
			})
		})
	}
}

// One that goes on for longer than Window no longer counts, and gives back nobody else's place when it ends.
func TestInFlightCountsForOneWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{atOnce(1)}})
		start := ridesOf(m)
		long, _, longDone := start()
		for _, wait := range []time.Duration{59999 * time.Millisecond, 6001 * time.Millisecond} {
			if got := used(t, m, "streams"); got != 1 {
				t.Fatalf("under way: %d used, want 1", got)
			}
			time.Sleep(wait)
		}
		next, _, nextDone := start()
		if next == nil {
			t.Fatal("11/10 of Limit.Window later its place is not free")
		}
		long <- func() {}
		<-longDone
		if got := used(t, m, "streams"); got != 1 {
			t.Errorf("when the long one has ended: %d used, want the 1 of the other", got)
		}
		next <- func() {}
		<-nextDone
		if got := used(t, m, "streams"); got != 0 {
			t.Errorf("in the end: %d used, want 0", got)
		}
	})
}

func TestInFlightRefusalsTellASecond(t *testing.T) {
	for name, tt := range map[string]struct {
		style httplimit.HeaderStyle
		more  []httplimit.Rule
		let   map[string]string // fields of a request that passes
		not   map[string]string // of one that is refused
	}{
		"RateLimitFields": {
			httplimit.RateLimitFields, nil,
			map[string]string{"Ratelimit-Policy": `"streams";q=1;qu="concurrent-requests"`, "Ratelimit": `"streams";r=0`},
			map[string]string{
				"Ratelimit-Policy": `"streams";q=1;qu="concurrent-requests"`, "Ratelimit": `"streams";r=0`, "Retry-After": "1",
			},
		},
		"beside another rule": {
			httplimit.RateLimitFields | httplimit.XRateLimitDelta,
			[]httplimit.Rule{ip(limiter.Limit{Requests: 9, Window: time.Hour, Algorithm: limiter.FixedWindow})},
			map[string]string{
				"Ratelimit-Policy":  `"streams";q=1;qu="concurrent-requests", "ip";q=9;w=3600`,
				"Ratelimit":         `"streams";r=0, "ip";r=8;t=3600`,
				"X-Ratelimit-Limit": "9", "X-Ratelimit-Remaining": "8", "X-Ratelimit-Reset": "3600",
			},
			map[string]string{
				"Ratelimit-Policy": `"streams";q=1;qu="concurrent-requests", "ip";q=9;w=3600`,
				"Ratelimit":        `"streams";r=0`, "Retry-After": "1",
			},
		},
		"draft 07": {
			httplimit.RateLimitDraft07, nil, map[string]string{}, map[string]string{"Retry-After": "1"},
		},
		"draft 06 beside another rule": {
			httplimit.RateLimitDraft06,
			[]httplimit.Rule{ip(limiter.Limit{Requests: 9, Window: time.Hour, Algorithm: limiter.FixedWindow})},
			map[string]string{
				"Ratelimit-Policy": "9;w=3600", "Ratelimit-Limit": "9", "Ratelimit-Remaining": "8", "Ratelimit-Reset": "3600",
			},
			map[string]string{"Retry-After": "1"},
		},
		"X with an epoch": {
			httplimit.XRateLimitEpoch, nil, map[string]string{}, map[string]string{"Retry-After": "1"},
		},
		"none": {httplimit.NoHeaders, nil, map[string]string{}, map[string]string{"Retry-After": "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := mustNew(t, httplimit.Config{Headers: tt.style, Rules: append([]httplimit.Rule{atOnce(1)}, tt.more...)})
				start := ridesOf(m)
				end, let, done := start()
				checkFields(t, "let through", let.Header(), tt.let)
				_, refused, _ := start()
				tt.not["Cache-Control"] = "no-store"
				refused.Header().Del("Content-Type")
				checkFields(t, "refused", refused.Header(), tt.not)
				end <- func() {}
				<-done
			})
		})
	}
}

func checkFields(t *testing.T, what string, got http.Header, want map[string]string) {
	t.Helper()
	for name := range got {
		if got.Get(name) != want[name] {
			t.Errorf("%s: %s: got %q, want %q", what, name, got.Get(name), want[name])
		}
	}
	for name := range want {
		if got[name] == nil {
			t.Errorf("%s: %s is missing, want %q", what, name, want[name])
		}
	}
}

// Whoever is told of a refusal is told of a second: the Denial, its Verdicts, the Observer, Peek and PeekRequest.
func TestInFlightVerdicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var denied httplimit.Denial
		var observed []httplimit.Verdict
		m := mustNew(t, httplimit.Config{
			Rules: []httplimit.Rule{atOnce(1)},
			OnDeny: func(_ http.ResponseWriter, _ *http.Request, d httplimit.Denial) {
				denied = d
			},
			Observer: watch(func(_ context.Context, o *httplimit.Observation) {
				observed = append(observed, o.Rules[0].Verdict)
			}),
		})
		start := ridesOf(m)
		end, _, done := start()
		start()
		all := []httplimit.Verdict{denied.Rules[0], observed[1]}
		for _, look := range []func() (httplimit.Verdict, error){
			func() (httplimit.Verdict, error) { return m.Peek(t.Context(), "streams", "192.0.2.1") },
			func() (httplimit.Verdict, error) {
				return m.PeekLimit(t.Context(), "streams", limiter.PerHour(1), "192.0.2.1")
			},
			func() (httplimit.Verdict, error) {
				list, err := m.PeekRequest(get())
				return list[0], err
			},
		} {
			v, err := look()
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, v)
		}
		places := limiter.Limit{Requests: 1, Window: time.Minute, Algorithm: limiter.StrictWindow}
		for i, v := range all {
			if v.RetryAfter != time.Second || v.Allowed || v.Remaining != 0 || v.Limit != places {
				t.Errorf("%d: got %+v, want it refused for 1s by %v", i, v, places)
			}
		}
		if denied.RetryAfter != time.Second {
			t.Errorf("Denial.RetryAfter: got %v, want 1s", denied.RetryAfter)
		}
		end <- func() {}
		<-done
	})
}

func TestInFlightFaults(t *testing.T) {
	kv, err := kvstore.New(&memoryKV{}, kvstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		change func(cfg *httplimit.Config)
		field  string
		reason string
	}{
		"a window of two counters": {
			func(cfg *httplimit.Config) { cfg.Rules[0].Limit.Algorithm = limiter.SlidingLog }, "Rules[0].Limit", "InFlight",
		},
		"CountStatus": {
			func(cfg *httplimit.Config) { cfg.Rules[0].CountStatus = func(int) bool { return true } },
			"Rules[0].InFlight", "CountStatus",
		},
		"a plan that is none": {
			func(cfg *httplimit.Config) { cfg.Rules[0].Plans = []limiter.Limit{{}} }, "Rules[0].Plans[0]", "Window",
		},
		"a store without StrictWindow": {
			func(cfg *httplimit.Config) { cfg.Store = kv }, "Rules[0].Limit", "strict-window",
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := httplimit.Config{Rules: []httplimit.Rule{atOnce(1)}}
			tt.change(&cfg)
			var fault *httplimit.ConfigError
			if _, err := httplimit.New(cfg); !errors.As(err, &fault) {
				t.Fatalf("got %v, want a fault of %s", err, tt.field)
			}
			if fault.Field != tt.field || !strings.Contains(fault.Reason, tt.reason) {
				t.Errorf("got %v, want a fault of %s that says %q", fault, tt.field, tt.reason)
			}
		})
	}
	for _, algorithm := range []limiter.Algorithm{0, limiter.StrictWindow} {
		rule := atOnce(1)
		rule.Limit.Algorithm = algorithm
		if _, err := httplimit.New(httplimit.Config{Rules: []httplimit.Rule{rule}}); err != nil {
			t.Errorf("algorithm %v: %v", algorithm, err)
		}
	}
}

// memoryKV is never asked.
type memoryKV struct{ kvstore.KV }

func TestInFlightLeavesThePlansOfTheConfigAlone(t *testing.T) {
	rule := atOnce(1)
	rule.Plans = []limiter.Limit{limiter.PerHour(5)}
	mustNew(t, httplimit.Config{Rules: []httplimit.Rule{rule}})
	if rule.Plans[0] != limiter.PerHour(5) {
		t.Errorf("got %v, want 5/h", rule.Plans[0])
	}
}

func TestInFlightIsNotForAllowAndSpend(t *testing.T) {
	m := mustNew(t, httplimit.Config{Expose: true, Rules: []httplimit.Rule{atOnce(2)}})
	if _, err := m.Allow(t.Context(), "streams", "192.0.2.1"); err == nil || !strings.Contains(err.Error(), "InFlight") {
		t.Errorf("Allow: got %v, want an error that names InFlight", err)
	}
	m.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		for _, n := range []int64{1, -1} {
			if err := httplimit.Spend(r.Context(), "streams", n); err == nil || !strings.Contains(err.Error(), "InFlight") {
				t.Errorf("Spend %d: got %v, want an error that names InFlight", n, err)
			}
		}
		if v := httplimit.Verdicts(r.Context()); len(v) != 1 || v[0].Cost != 1 || v[0].Remaining != 1 {
			t.Errorf("Verdicts: got %+v, want one place taken and one left", v)
		}
		if got := used(t, m, "streams"); got != 1 {
			t.Errorf("in the handler: %d used, want 1", got)
		}
	})).ServeHTTP(httptest.NewRecorder(), get())
	if got := used(t, m, "streams"); got != 0 {
		t.Errorf("afterwards: %d used, want 0", got)
	}
}

// A plan of another window and algorithm changes how many may be under way, and nothing else.
func TestInFlightPlansChangeRequestsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rule := atOnce(1)
		rule.Plans = []limiter.Limit{{Requests: 2, Window: time.Hour, Algorithm: limiter.TokenBucket, Burst: 7}}
		plan := rule.Plans[0]
		rule.LimitFunc = func(*http.Request) (limiter.Limit, error) { return plan, nil }
		m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{rule}})
		start := ridesOf(m)
		if got := countIn(t, start); got != 2 {
			t.Errorf("with the plan of 2: got %d under way, want 2", got)
		}
		plan = limiter.PerSecond(3) // one that is in no list
		if got := countIn(t, start); got != 1 {
			t.Errorf("with another of 3: got %d more under way, want 1", got)
		}
		plan = limiter.Limit{} // a mistake: Limit holds
		if got := countIn(t, start); got != 0 {
			t.Errorf("with no plan: got %d more under way, want 0", got)
		}
		v, err := m.PeekLimit(t.Context(), "streams", limiter.PerDay(10), "192.0.2.1")
		if want := (limiter.Limit{Requests: 10, Window: time.Minute, Algorithm: limiter.StrictWindow}); err != nil ||
			v.Remaining != 7 || v.Limit != want {
			t.Errorf("PeekLimit: got %+v, %v, want 7 left of %v", v, err, want)
		}
		if err := m.Reset(t.Context(), "streams", "192.0.2.1"); err != nil {
			t.Fatal(err)
		}
		if got := used(t, m, "streams"); got != 0 {
			t.Errorf("after a Reset: %d used, want 0", got)
		}
	})
}

// countIn starts requests until one is refused, ends them in the end, and returns how many were let in.
func countIn(t *testing.T, start func() (chan<- func(), *httptest.ResponseRecorder, <-chan any)) (n int) {
	for {
		end, _, _ := start()
		if end == nil {
			return n
		}
		n++
		t.Cleanup(func() { end <- func() {} })
	}
}

func TestInFlightWithOtherFields(t *testing.T) {
	for name, tt := range map[string]struct {
		rule  func(*httplimit.Rule)
		let   int // of three at once
		holds int64
	}{
		"Cost":               {func(r *httplimit.Rule) { r.Cost = costing(2) }, 1, 2},
		"a Cost of 0":        {func(r *httplimit.Rule) { r.Cost = costing(0) }, 3, 0},
		"Shadow":             {func(r *httplimit.Rule) { r.Shadow = true }, 3, 2},
		"outside of Percent": {func(r *httplimit.Rule) { r.Percent = 1 }, 3, 2},
		"in its Percent":     {func(r *httplimit.Rule) { r.Percent = 99 }, 2, 2},
		"Private":            {func(r *httplimit.Rule) { r.Private = true }, 2, 2},
		"When":               {func(r *httplimit.Rule) { r.When = func(*http.Request) bool { return false } }, 3, 0},
		"a limit of 0":       {func(r *httplimit.Rule) { r.Limit.Requests = 0 }, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rule := atOnce(2)
				tt.rule(&rule)
				m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{rule}})
				start := ridesOf(m)
				let := 0
				for range 3 {
					if end, _, _ := start(); end != nil {
						let++
						time.AfterFunc(time.Second, func() { end <- func() {} })
					}
				}
				if got := used(t, m, "streams"); let != tt.let || got != tt.holds {
					t.Errorf("of three %d were let in and hold %d, want %d and %d", let, got, tt.let, tt.holds)
				}
				time.Sleep(2 * time.Second)
				synctest.Wait()
				if got := used(t, m, "streams"); got != 0 {
					t.Errorf("when all have ended: %d used, want 0", got)
				}
			})
		})
	}
}

func costing(n int64) func(*http.Request) (int64, error) {
	return func(*http.Request) (int64, error) { return n, nil }
}

func TestInFlightCostThatNeverFits(t *testing.T) {
	rule := atOnce(1)
	rule.Cost = costing(2)
	w := serveRequest(mustNew(t, httplimit.Config{Rules: []httplimit.Rule{rule}}), get())
	if got := w.Header().Get("Retry-After"); w.Code != http.StatusTooManyRequests || got != "" {
		t.Errorf("got %d with Retry-After %q, want 429 without one", w.Code, got)
	}
}

// A preflight has a counter of its own, as under any rule, and gives its place back there.
func TestInFlightPreflights(t *testing.T) {
	m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{atOnce(1)}})
	for range 3 {
		if w := serveRequest(m, preflight()); w.Code != http.StatusOK {
			t.Fatalf("got %d, want 200", w.Code)
		}
	}
}

// A request that another rule refuses takes no place, and one that the rule refuses spends nothing of the others.
func TestInFlightBesideOtherRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{ip(limiter.PerHour(2)), atOnce(1)}})
		start := ridesOf(m)
		for range 2 {
			end, _, done := start()
			start() // refused by the second rule
			end <- func() {}
			<-done
		}
		if _, w, _ := start(); w.Code != http.StatusTooManyRequests {
			t.Fatalf("a third: got %d, want 429", w.Code)
		}
		if got := used(t, m, "streams"); got != 0 {
			t.Errorf("%d places are taken, want 0", got)
		}
	})
}

// A ban is told with its end; its strikes are refusals by InFlight.
func TestInFlightWithABan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rule := atOnce(1)
		rule.Ban = httplimit.Ban{After: 2, Within: time.Minute, For: time.Hour}
		start := ridesOf(mustNew(t, httplimit.Config{Rules: []httplimit.Rule{rule}}))
		end, _, done := start()
		for i, want := range []string{"1", "3600", "3600"} {
			if _, w, _ := start(); w.Header().Get("Retry-After") != want {
				t.Errorf("refusal %d: Retry-After %q, want %q", i+1, w.Header().Get("Retry-After"), want)
			}
		}
		end <- func() {}
		<-done
		if _, w, _ := start(); w.Header().Get("Retry-After") != "3600" {
			t.Errorf("banned, with all places free: Retry-After %q, want 3600", w.Header().Get("Retry-After"))
		}
	})
}

// What was charged in this process while the store was away comes back in this process, and what was charged in the
// store comes back there, whatever is in force by then.
func TestInFlightComesBackWhereItWasCharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, other := &scripted{}, &scripted{}
		cfg := httplimit.Config{Store: store, Instances: 2, Rules: []httplimit.Rule{atOnce(2)}}
		m := mustNew(t, cfg)
		start := ridesOf(m)
		stored, _, storedDone := start()
		store.fail(errDown)
		local, _, localDone := start()
		if _, w, _ := start(); w.Header().Get("Retry-After") != "1" {
			t.Errorf("beyond the share: Retry-After %q, want 1", w.Header().Get("Retry-After"))
		}
		local <- func() {}
		<-localDone
		if again, w, _ := start(); again == nil {
			t.Errorf("when the local one has ended: got %d, want it let in", w.Code)
		} else {
			again <- func() {}
		}
		synctest.Wait()
		store.fail(nil)
		asked := len(store.charges())
		if err := m.Reconfigure(httplimit.Config{Store: other, Rules: []httplimit.Rule{ip(limiter.PerDay(1))}}); err != nil {
			t.Fatal(err)
		}
		stored <- func() {}
		<-storedDone
		back := store.charges()[asked:]
		if len(back) != 1 || back[0].Cost != -1 || back[0].At != 1 || back[0].Mode != limiter.Enforce {
			t.Errorf("the store was asked %+v, want one unit back at its own moment", back)
		}
		if got := other.charges(); len(got) != 0 {
			t.Errorf("the new store was asked %+v, want nothing", got)
		}
	})
}

// While the store is away a rule with another policy charges nothing, and so gives nothing back.
func TestInFlightWhileTheStoreIsAway(t *testing.T) {
	for policy, want := range map[httplimit.FailurePolicy]int{
		httplimit.FailOpen: http.StatusOK, httplimit.FailClosed: http.StatusServiceUnavailable,
	} {
		store := &scripted{err: errDown}
		rule := atOnce(1)
		rule.Failure = policy
		w := serveRequest(mustNew(t, httplimit.Config{Store: store, Rules: []httplimit.Rule{rule}}), get())
		if asked := store.charges(); w.Code != want || len(asked) != 1 {
			t.Errorf("%v: got %d and the charges %+v, want %d and one charge", policy, w.Code, asked, want)
		}
	}
}

// What the store does not take back leaves with the window, and the operator is told once.
func TestInFlightThatTheStoreDoesNotTakeBack(t *testing.T) {
	for name, refuse := range map[string]func() error{
		"an error": func() error { return errDown },
		"a panic":  func() error { panic("broken") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				m := mustNew(t, httplimit.Config{
					Store: keeping{newMemory(t), refuse}, Rules: []httplimit.Rule{atOnce(2)},
					Logger: slog.New(slog.NewTextHandler(&log, nil)),
				})
				for i, want := range []int{http.StatusOK, http.StatusOK, http.StatusTooManyRequests} {
					if w := serveRequest(m, get()); w.Code != want {
						t.Errorf("request %d: got %d, want %d", i+1, w.Code, want)
					}
				}
				if got := strings.Count(log.String(), "could not be given back"); got != 1 {
					t.Errorf("%d warnings, want 1: %s", got, &log)
				}
				time.Sleep(66 * time.Second)
				if got := used(t, m, "streams"); got != 0 {
					t.Errorf("11/10 of Limit.Window later: %d used, want 0", got)
				}
			})
		})
	}
}

// keeping takes nothing back.
type keeping struct {
	limiter.Store
	refuse func() error
}

func (k keeping) Take(ctx context.Context, charges []limiter.Charge) (bool, error) {
	if charges[0].Cost < 0 {
		return false, k.refuse()
	}
	return k.Store.Take(ctx, charges)
}

// The client has left, and the request's context has ended: the place comes back all the same.
func TestInFlightOfAClientThatHasLeft(t *testing.T) {
	m := mustNew(t, httplimit.Config{Store: &strictEnd{newMemory(t)}, Rules: []httplimit.Rule{atOnce(1)}})
	ctx, leave := context.WithCancel(t.Context())
	m.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { leave() })).
		ServeHTTP(httptest.NewRecorder(), get().WithContext(ctx))
	if got := used(t, m, "streams"); got != 0 {
		t.Errorf("%d used, want 0", got)
	}
}

// strictEnd spends nothing for a context that has ended.
type strictEnd struct{ limiter.Store }

func (s *strictEnd) Take(ctx context.Context, charges []limiter.Charge) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	return s.Store.Take(ctx, charges)
}

func newMemory(t *testing.T) *memstore.Store {
	t.Helper()
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// An Observer that panics ends the request before any handler.
func TestInFlightWithAnObserverThatPanics(t *testing.T) {
	m := mustNew(t, httplimit.Config{
		Rules:    []httplimit.Rule{atOnce(1)},
		Observer: watch(func(context.Context, *httplimit.Observation) { panic("broken") }),
	})
	func() {
		defer func() { _ = recover() }()
		serveRequest(m, get())
	}()
	if got := used(t, m, "streams"); got != 0 {
		t.Errorf("%d used, want 0", got)
	}
}

// So does a log that panics, whatever the order of the rules.
func TestInFlightWithALogThatPanics(t *testing.T) {
	shadow := httplimit.Rule{
		Name: "shadow", Key: httplimit.Everyone(), Limit: limiter.PerHour(0), Shadow: true, // logged at once
	}
	for name, rules := range map[string][]httplimit.Rule{
		"logged after": {atOnce(3), shadow}, "logged before": {shadow, atOnce(3)},
	} {
		t.Run(name, func(t *testing.T) {
			m := mustNew(t, httplimit.Config{Rules: rules, Logger: slog.New(panickingLog{})})
			panicked := func() (value any) {
				defer func() { value = recover() }()
				serveRequest(m, get())
				return nil
			}()
			if panicked == nil {
				t.Fatal("nothing was logged, want a panic")
			}
			if got := used(t, m, "streams"); got != 0 {
				t.Errorf("%d places in use after a panic of the log, want 0", got)
			}
		})
	}
}

// panickingLog panics with every line.
type panickingLog struct{ slog.Handler }

func (panickingLog) Enabled(context.Context, slog.Level) bool  { return true }
func (panickingLog) Handle(context.Context, slog.Record) error { panic("the log") }

// A connection that was taken over holds its place until the handler has returned, and CountStatus of another rule is
// settled at once. The writer is the server's own where no rule has CountStatus.
func TestInFlightOfAConnectionThatWasTakenOver(t *testing.T) {
	counting := ip(limiter.PerHour(5))
	counting.CountStatus = func(status int) bool { return status != http.StatusSwitchingProtocols }
	for name, rules := range map[string][]httplimit.Rule{
		"alone": {atOnce(1)}, "beside CountStatus": {counting, atOnce(1)},
	} {
		t.Run(name, func(t *testing.T) {
			m := mustNew(t, httplimit.Config{Rules: rules})
			taken, end, returned := make(chan struct{}), make(chan struct{}), make(chan struct{}, 2)
			limited := m.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				conn, _, err := w.(http.Hijacker).Hijack()
				if err != nil {
					t.Error(err)
				}
				defer conn.Close()
				close(taken)
				<-end
			}))
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				limited.ServeHTTP(w, r)
				returned <- struct{}{}
			}))
			defer server.Close()
			conn, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := conn.Write([]byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n")); err != nil {
				t.Fatal(err)
			}
			<-taken
			answer, err := http.Get(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if answer.StatusCode != http.StatusTooManyRequests || answer.Header.Get("Retry-After") != "1" {
				t.Errorf("while it is open: got %d, want 429 with Retry-After: 1", answer.StatusCode)
			}
			<-returned // the refused one
			close(end)
			<-returned
			if v, err := m.Peek(t.Context(), "streams", "127.0.0.1"); err != nil || v.Remaining != 1 {
				t.Errorf("when it has ended: got %+v, %v, want one place left", v, err)
			}
		})
	}
}

// Adapters that know of Settle only give places back with it, once.
func TestInFlightIsGivenBackBySettle(t *testing.T) {
	m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{atOnce(2)}})
	for name, end := range map[string]func(*httplimit.Outcome){
		"Settle":        func(o *httplimit.Outcome) { o.Settle(http.StatusOK) },
		"Settle twice":  func(o *httplimit.Outcome) { o.Settle(http.StatusOK); o.Settle(http.StatusOK) },
		"SettleFailed":  func(o *httplimit.Outcome) { o.SettleFailed(0) },
		"Hold":          func(o *httplimit.Outcome) { o.Hold()() },
		"Hold, twice":   func(o *httplimit.Outcome) { leave := o.Hold(); leave(); leave() },
		"Hold, late":    func(o *httplimit.Outcome) { leave := o.Hold(); o.Settle(http.StatusOK); o.Release(); leave() },
		"Hold, at once": func(o *httplimit.Outcome) { o.Hold()(); o.Settle(http.StatusOK) },
	} {
		t.Run(name, func(t *testing.T) {
			other, one := m.Check(httplimit.HTTPRequest(get())), m.Check(httplimit.HTTPRequest(get()))
			if got := used(t, m, "streams"); got != 2 || !one.Counts() {
				t.Errorf("under way: %d used, Counts %v, want 2 and true", got, one.Counts())
			}
			end(one)
			if got := used(t, m, "streams"); got != 1 {
				t.Errorf("when one has ended: %d used, want 1", got)
			}
			other.Settle(http.StatusOK)
		})
	}
	held := m.Check(httplimit.HTTPRequest(get()))
	leave := held.Hold()
	if held.Counts() || held.Hold() != nil {
		t.Error("after Hold: Counts, or a second Hold, has something left to do")
	}
	held.Settle(http.StatusOK)
	if got := used(t, m, "streams"); got != 1 {
		t.Errorf("settled and still held: %d used, want 1", got)
	}
	leave()
	refused := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{atOnce(0)}}).Check(httplimit.HTTPRequest(get()))
	if refused.Counts() || refused.Hold() != nil {
		t.Error("refused: Counts, or Hold, has something to give back")
	}
	plain := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{ip(limiter.PerDay(1))}})
	if o := plain.Check(httplimit.HTTPRequest(get())); o.Counts() || o.Hold() != nil {
		t.Error("without InFlight: Counts, or Hold, has something to give back")
	}
}

// 64 clients at once, and never more of their requests under way than may be.
func TestInFlightIsNeverExceeded(t *testing.T) {
	const most = 10
	m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{atOnce(most)}})
	var mu sync.Mutex
	under, worst, let := 0, 0, 0
	change := func(by int) {
		mu.Lock()
		defer mu.Unlock()
		under += by
		worst = max(worst, under)
		if by > 0 {
			let++
		}
	}
	h := m.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		change(1)
		defer change(-1)
		runtime.Gosched()
	}))
	var running sync.WaitGroup
	for range 64 {
		running.Go(func() {
			for range 500 {
				h.ServeHTTP(httptest.NewRecorder(), get())
			}
		})
	}
	running.Wait()
	if worst > most || let == 0 {
		t.Errorf("up to %d of %d requests were under way at once, want at most %d", worst, let, most)
	}
	if got := used(t, m, "streams"); got != 0 {
		t.Errorf("in the end: %d used, want 0", got)
	}
}

func TestInFlightHeaderNames(t *testing.T) {
	w := serveRequest(mustNew(t, httplimit.Config{Rules: []httplimit.Rule{atOnce(10)}}), get())
	if got := w.Header()["Ratelimit"]; !slices.Equal(got, []string{`"streams";r=9`}) {
		t.Errorf("RateLimit: got %q, want one line without t", got)
	}
}
