package httplimit_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

func TestPeekRequest(t *testing.T) {
	never := func(what string) { t.Errorf("%s was asked", what) }
	everyone := httplimit.Everyone()
	limitTo := func(l limiter.Limit, err error) func(*http.Request) (limiter.Limit, error) {
		return func(*http.Request) (limiter.Limit, error) { return l, err }
	}
	skips := httplimit.KeyFunc(func(*http.Request) (string, error) { return "", httplimit.ErrSkip })
	user := httplimit.Header("X-User")
	tests := map[string]struct {
		rule    httplimit.Rule
		headers []string
		limit   limiter.Limit // that is told; zero: the rule is left out
		key     string        // that the store is asked for
	}{
		"a rule":               {httplimit.Rule{Key: user}, []string{"X-User", "ann"}, limiter.PerDay(9), "ann"},
		"without the identity": {httplimit.Rule{Key: user}, nil, limiter.PerDay(9), "%N:192.0.2.1"},
		"NoKey":                {httplimit.Rule{Key: user, NoKey: everyone}, nil, limiter.PerDay(9), "%N:"},
		"an ambiguous one":     {httplimit.Rule{Key: user}, []string{"X-User", "a", "X-User", "b"}, limiter.PerDay(9), "%M"},
		"ErrSkip of Key":       {httplimit.Rule{Key: skips}, nil, limiter.Limit{}, ""},
		"ErrSkip of NoKey":     {httplimit.Rule{Key: user, NoKey: skips}, nil, limiter.Limit{}, ""},
		"a plan":               {httplimit.Rule{LimitFunc: limitTo(limiter.PerHour(5), nil)}, nil, limiter.PerHour(5), ""},
		"a plan of one window": {httplimit.Rule{LimitFunc: limitTo(limiter.PerDay(90), nil)}, nil, limiter.PerDay(90), ""},
		"a suspended tenant":   {httplimit.Rule{LimitFunc: limitTo(limiter.PerDay(0), nil)}, nil, limiter.PerDay(0), ""},
		"ErrSkip of LimitFunc": {
			httplimit.Rule{LimitFunc: limitTo(limiter.PerDay(5), httplimit.ErrSkip)},
			nil,
			limiter.Limit{},
			"",
		},
		"an error of LimitFunc": {httplimit.Rule{LimitFunc: limitTo(limiter.Limit{}, errDown)}, nil, limiter.PerDay(9), ""},
		"no limit of LimitFunc": {httplimit.Rule{LimitFunc: limitTo(limiter.PerDay(-1), nil)}, nil, limiter.PerDay(9), ""},
		"Private":               {httplimit.Rule{Private: true}, nil, limiter.Limit{}, ""},
		"Shadow":                {httplimit.Rule{Shadow: true}, nil, limiter.PerDay(9), ""},
		"neither When nor Cost": {httplimit.Rule{
			When: func(*http.Request) bool { never("When"); return false },
			Cost: func(*http.Request) (int64, error) { never("Cost"); return 7, nil },
		}, nil, limiter.PerDay(9), ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			store := &scripted{}
			rule := tt.rule
			rule.Name, rule.Limit = "r", limiter.PerDay(9)
			if rule.Key == nil {
				rule.Key = everyone
			}
			first := httplimit.Rule{Name: "first", Key: everyone, Limit: limiter.PerMinute(3)}
			m := mustNew(t, httplimit.Config{Store: store, Rules: []httplimit.Rule{first, rule}})
			r := get()
			for i := 0; i < len(tt.headers); i += 2 {
				r.Header.Add(tt.headers[i], tt.headers[i+1])
			}
			got, err := m.PeekRequest(r)
			if err != nil {
				t.Fatal(err)
			}
			want := []string{"first of 3/m costs 1"}
			if tt.limit != (limiter.Limit{}) {
				want = append(want, "r of "+tt.limit.String()+" costs 1")
			}
			var told []string
			for _, v := range got {
				told = append(told, v.Rule+" of "+v.Limit.String()+" costs "+string(rune('0'+v.Cost)))
			}
			if !slices.Equal(told, want) {
				t.Errorf("got %q, want %q", told, want)
			}
			asked := store.charges()
			if len(asked) != len(want) {
				t.Fatalf("the store was asked about %+v, want %d charges", asked, len(want))
			}
			for _, c := range asked {
				if c.Mode != limiter.Peek || c.Cost != 1 {
					t.Errorf("the store was asked about %+v, want a look at one unit", c)
				}
			}
			if last := asked[len(asked)-1]; len(asked) > 1 && last.Key != tt.key {
				t.Errorf("the store was asked about the key %q, want %q", last.Key, tt.key)
			}
		})
	}
}

// TestPeekRequestSaysWhatARequestWouldGet, and changes nothing of it.
func TestPeekRequestSaysWhatARequestWouldGet(t *testing.T) {
	m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{plans(limiter.PerDay(3)), ip(limiter.PerDay(2))}})
	page := get()
	page.Header.Set("X-User", "ann")
	page.Header.Set("X-Plan", "3/d")
	for spent := range int64(4) {
		for range 3 {
			got, err := m.PeekRequest(page)
			if err != nil || len(got) != 2 {
				t.Fatalf("got %+v, %v, want two verdicts", got, err)
			}
			plan, address := got[0], got[1]
			if plan.Limit != limiter.PerDay(3) || plan.Remaining != 3-min(spent, 2) || !plan.Allowed {
				t.Errorf("after %d requests: plan: got %+v, want %d remaining", spent, plan, 3-min(spent, 2))
			}
			if address.Remaining != 2-min(spent, 2) || address.Allowed != (spent < 2) ||
				(address.RetryAfter == 0) != (spent < 2) {
				t.Errorf("after %d requests: address: got %+v, want %d remaining", spent, address, 2-min(spent, 2))
			}
		}
		askedPlan(m, get(), "3/d")
	}
}

// A limit of 0 is answered without the store, which has to be asked about the other rules all the same.
func TestPeekRequestBesideALimitOfZero(t *testing.T) {
	rule := func(name string, n int64) httplimit.Rule {
		return httplimit.Rule{Name: name, Key: httplimit.Everyone(), Limit: limiter.PerDay(n)}
	}
	m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{rule("a", 5), rule("suspended", 0), rule("b", 7)}})
	got, err := m.PeekRequest(get())
	if err != nil || len(got) != 3 {
		t.Fatalf("got %+v, %v, want three verdicts", got, err)
	}
	for i, want := range []int64{5, 0, 7} {
		if v := got[i]; v.Remaining != want || v.Allowed != (want > 0) || want > 0 && v.Source != httplimit.SourceStore {
			t.Errorf("%s: got %+v, want %d remaining", v.Rule, v, want)
		}
	}
}

func TestPeekRequestOfAPreflight(t *testing.T) {
	m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{ip(limiter.PerDay(9))}})
	serveRequest(m, preflight())
	for want, r := range map[int64]*http.Request{8: preflight(), 9: get()} {
		if got, err := m.PeekRequest(r); err != nil || len(got) != 1 || got[0].Remaining != want {
			t.Errorf("%s: got %+v, %v, want %d remaining", r.Method, got, err, want)
		}
	}
}

func TestPeekRequestWithoutRules(t *testing.T) {
	private := ip(limiter.PerDay(9))
	private.Private = true
	for name, m := range map[string]*httplimit.Middleware{
		"the zero Middleware": {}, "all are Private": mustNew(t, httplimit.Config{Rules: []httplimit.Rule{private}}),
	} {
		if got, err := m.PeekRequest(get()); got == nil || len(got) != 0 || err != nil {
			t.Errorf("%s: got %+v, %v, want an empty list and no error", name, got, err)
		}
	}
}

// TestPeekRequestWarnsOfNothing: whoever loads the page over and over fills no log, and takes no warning away that the
// requests to come would give.
func TestPeekRequestWarnsOfNothing(t *testing.T) {
	lb := netip.MustParsePrefix("192.0.2.0/24")
	fails := httplimit.KeyFunc(func(*http.Request) (string, error) { return "", errors.New("key is broken") })
	rule := func(name string, key httplimit.Key) httplimit.Rule {
		return httplimit.Rule{Name: name, Key: key, Limit: limiter.PerDay(9)}
	}
	plan := rule("plan", httplimit.Everyone())
	plan.LimitFunc = func(*http.Request) (limiter.Limit, error) { return limiter.Limit{}, errors.New("plan is broken") }
	zero := rule("zero", httplimit.Everyone())
	zero.Limit, zero.Shadow = limiter.PerDay(0), true
	cfg := httplimit.Config{Rules: []httplimit.Rule{
		rule(
			"header",
			httplimit.ClientIP(),
		), rule("proxy", httplimit.ClientIP(lb)), rule("ambiguous", httplimit.Header("X-User")),
		rule("broken", fails), rule("route", httplimit.Route()), plan, zero,
	}}
	request := func() *http.Request {
		r := get()
		r.Header["X-Forwarded-For"] = []string{"203.0.113.9, unknown"}
		r.Header["X-User"] = []string{"ann", "bob"}
		return r
	}
	log := func(looks int) string {
		var out bytes.Buffer
		seen := &recorder{}
		with := cfg
		with.Observer = seen
		with.Logger = slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: withoutTime}))
		m := mustNew(t, with)
		for range looks {
			if got, err := m.PeekRequest(request()); err != nil || len(got) != len(cfg.Rules) {
				t.Fatalf("got %+v, %v, want %d verdicts", got, err, len(cfg.Rules))
			}
		}
		if out.Len() > 0 || len(seen.seen) > 0 {
			t.Errorf("%d looks logged %s and were observed as %q", looks, out.String(), seen.seen)
		}
		serveRequest(m, request())
		return out.String()
	}
	want := log(0)
	for _, cause := range []string{"trusts no proxy", "the proxy itself", "different values", "key is broken",
		"plan is broken", "Route key", "would have refused"} {
		if !strings.Contains(want, cause) {
			t.Errorf("a request logs %s, want %q among it", want, cause)
		}
	}
	if got := log(5000); got != want { // more than the requests that are checked for what is sampled
		t.Errorf("after looks a request logs\n%s\nwant\n%s", got, want)
	}
}

func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

// TestPeekRequestWhileTheStoreIsAway: a look is no sign of an outage, nor of its end.
func TestPeekRequestWhileTheStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		store := &scripted{err: errDown}
		closed := failingRule("closed", httplimit.FailClosed, 5)
		m := mustNew(t, httplimit.Config{Store: store, Instances: 5, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Rules: []httplimit.Rule{
				failingRule("local", httplimit.FailLocal, 50), failingRule("open", httplimit.FailOpen, 5),
			}})
		got, err := m.PeekRequest(get())
		if err != nil || len(got) != 2 || got[0].Source != httplimit.SourceLocal || got[0].Remaining != 10 ||
			got[0].Limit != limiter.PerDay(50) || got[1].Source != httplimit.SourceNone || !got[1].Allowed {
			t.Errorf("got %+v, %v, want 10 of 50/d by local and one of none", got, err)
		}
		if log.Len() > 0 || len(m.Health()) > 0 {
			t.Errorf("a look made the health %+v and logged %s", m.Health(), log.String())
		}
		serve(m, "192.0.2.1:1")
		lines := log.String()
		store.fail(nil)
		time.Sleep(2 * time.Second)
		if _, err := m.PeekRequest(get()); err != nil || log.String() != lines || len(m.Health()) != 2 {
			t.Errorf("a look after the outage: %v, health %+v, logged %s", err, m.Health(), log.String())
		}

		m = mustNew(
			t,
			httplimit.Config{Store: &scripted{err: errDown}, Rules: []httplimit.Rule{ip(limiter.PerDay(5)), closed}},
		)
		if got, err := m.PeekRequest(get()); !errors.Is(err, errDown) || got != nil {
			t.Errorf("FailClosed: got %+v, %v, want the store's error alone", got, err)
		}
	})
}
