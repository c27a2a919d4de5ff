package console

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
)

// brokenStore cannot decide.
type brokenStore struct{}

func (brokenStore) Take(context.Context, []limiter.Charge) (bool, error) {
	return false, errors.New("dial: <b>connection refused</b>")
}
func (brokenStore) Reset(context.Context, []limiter.Charge) error {
	return errors.New("dial: <b>connection refused</b>")
}
func (brokenStore) Stats() limiter.StoreStats {
	return limiter.StoreStats{Name: "broken", Servers: []limiter.ServerStats{
		{Address: "redis:1", Healthy: true}, {Address: "redis:2", Cause: "<i>gone</i>", Since: time.Now()},
	}}
}

// What is wrong is said once for each server, and once for all rules that fare likewise.
func TestProblems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rule := func(name string, policy httplimit.FailurePolicy) httplimit.Rule {
			r := byAddress(name, limiter.PerDay(5))
			r.Failure = policy
			return r
		}
		s := newSiteOf(t, httplimit.Config{Store: brokenStore{}, Rules: []httplimit.Rule{
			rule("one", httplimit.FailLocal), rule("two", httplimit.FailOpen), rule("three", httplimit.FailLocal),
		}})
		if p := s.snapshot().Problems; len(p) != 1 || p[0].Server != "broken redis:2" {
			t.Fatalf("got %+v before the first request, want the server alone", p)
		}
		s.request("192.0.2.7")
		time.Sleep(time.Second)
		p := s.snapshot().Problems
		if len(p) != 3 || strings.Join(p[1].Rules, " ") != "one three" || strings.Join(p[2].Rules, " ") != "two" {
			t.Fatalf("got %+v, want the server, one and three, and two", p)
		}
		mustContain(t, s.get(""), "redis:2 does not answer", "one, three:", "1 of 2 down", "store away",
			"&lt;i&gt;gone&lt;/i&gt;")
		mustContain(t, s.get("stores"), "redis:1", "redis:2")
		f := form("rule", ruleID("", "one"), "part", "192.0.2.7")
		mustContain(t, s.post("client", f, "alice"), "this process alone", "passes uncounted, as the store is away",
			"Not known of two.")
		mustContain(t, s.post("reset", f, "alice"), "It may not have been reset", "connection refused")
		mustContain(t, s.get("activity"), "tried to reset")
		if w := s.post("api/reset.json", f, "alice"); w.Code != http.StatusBadGateway {
			t.Errorf("got %d, want 502", w.Code)
		}
		time.Sleep(20 * time.Second)
		if p := s.snapshot().Problems; len(p) != 1 {
			t.Errorf("got %+v long after the last request, want the server alone", p)
		}
	})
}

// The last bar is the rate of the seconds that are over, not of ten.
func TestLiveSeries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, byAddress("address", limiter.PerDay(1e6)))
		for range 13 {
			for range 4 {
				s.request("192.0.2.7")
			}
			time.Sleep(time.Second)
		}
		live := s.snapshot().live.Passed
		if n := len(live); n != buckets || live[n-1] != 40 || live[n-2] != 40 || live[n-3] != 0 {
			t.Errorf("got %v, want twice four a second", live[len(live)-3:])
		}
	})
}

// Near its limit is who was so within the last minute and has not all of it back.
func TestNearClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, byAddress("long", limiter.Per(2, time.Hour)), byAddress("short", limiter.Per(2, 5*time.Second)))
		s.request("192.0.2.7")
		s.request("192.0.2.7")
		for after, want := range []int{2, 1, 0} {
			time.Sleep([]time.Duration{time.Second, 20 * time.Second, time.Minute}[after])
			if near := s.snapshot().Near; len(near) != want {
				t.Errorf("look %d: got %+v, want %d clients", after, near, want)
			}
		}
	})
}

// A key that NoKey has found is nobody's under the rules of the same Key.
func TestSameKey(t *testing.T) {
	user := func(name string) httplimit.Rule {
		return httplimit.Rule{Name: name, Key: httplimit.Header("X-User"), Limit: limiter.PerDay(5)}
	}
	s := newSite(t, user("one"), user("two"), byAddress("other", limiter.PerDay(5)))
	w := s.look()
	for key, want := range map[string]int{"bob": 2, "%N:192.0.2.7": 1, "#hash": 2} {
		if got := w.sameKey(w.rules[0], key); len(got) != want || got[0] != w.rules[0] {
			t.Errorf("%s: got %d rules, want %d", key, len(got), want)
		}
	}
	f := httplimit.KeyFunc(func(*http.Request) (string, error) { return "x", nil })
	s = newSite(t, httplimit.Rule{Name: "one", Key: f, Limit: limiter.PerDay(1)},
		httplimit.Rule{Name: "two", Key: f, Limit: limiter.PerDay(1)})
	if n := len(s.look().shapes()); n != 2 {
		t.Errorf("got %d kinds of key for two functions, want 2", n)
	}
}

func TestSecretOfTheConfigIsNotShown(t *testing.T) {
	const secret = "0123456789abcdef"
	s := newSiteOf(t, httplimit.Config{
		KeySecret: []byte(secret), Rules: []httplimit.Rule{byAddress("address", limiter.PerDay(5))},
	})
	body := s.get("config").Body.String()
	if strings.Contains(body, secret) || strings.Contains(body, "MDEyMzQ1Njc4OWFiY2RlZg") {
		t.Error("the secret stands on the page")
	}
	if !strings.Contains(body, "KeySecret") {
		t.Errorf("the page does not say that there is a secret: %s", body)
	}
}

func TestSealEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := newSealer()
		if err != nil {
			t.Fatal(err)
		}
		token := s.seal("shape", []string{"a", "b"})
		time.Sleep(sealedFor - time.Second)
		if shape, parts, err := s.open(token); err != nil || shape != "shape" || len(parts) != 2 {
			t.Errorf("got %q, %q, %v", shape, parts, err)
		}
		if _, _, err := s.open(token[:len(token)-2] + "AA"); !errors.Is(err, errStale) {
			t.Errorf("a changed token: got %v", err)
		}
		time.Sleep(2 * time.Second)
		if _, _, err := s.open(token); !errors.Is(err, errStale) {
			t.Errorf("half a day later: got %v, want %v", err, errStale)
		}
	})
}

// A store that tells nothing of itself is not said to be well, nor are stores that are not watched.
func TestHealthOfStores(t *testing.T) {
	rules := []httplimit.Rule{byAddress("address", limiter.PerDay(5))}
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	unwatched := newSiteOf(t, httplimit.Config{Rules: rules})
	unwatched.watched = nil
	for _, test := range []struct {
		name  string
		s     *site
		known bool
	}{
		{"in memory", newSiteOf(t, httplimit.Config{Rules: rules}), true},
		{"tells nothing", newSiteOf(t, httplimit.Config{Rules: rules, Store: wrapped{store}}), false},
		{"not watched", unwatched, false},
	} {
		body := test.s.get("").Body.String()
		if strings.Contains(body, "in memory") != test.known || strings.Contains(body, "not known</p>") == test.known {
			t.Errorf("%s: got in memory %v, want %v", test.name, !test.known, test.known)
		}
	}
}
