package httplimit_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
)

// keysTold is an Observer that keeps the keys.
type keysTold struct{ keys []string }

func (k *keysTold) Observe(_ context.Context, o *httplimit.Observation) {
	for i := range o.Rules {
		k.keys = append(k.keys, strings.Clone(o.Rules[i].Key))
	}
}

// TestOperatorsKeys: the key that the Observer was told is that of the parts, tells how the client stands, and frees
// it.
func TestOperatorsKeys(t *testing.T) {
	request := httptest.NewRequest(http.MethodGet, "/", nil)
	request.RemoteAddr = "192.0.2.7:1234"
	request.Header.Set("X-User", "a:b c")
	request.Header.Set("X-Api-Key", "very secret")
	user := httplimit.Header("X-User")
	for _, test := range []struct {
		name   string
		key    httplimit.Key
		secret string
		parts  []string
		want   string // "": a hash
	}{
		{"address", httplimit.ClientIP(), "", []string{"192.0.2.7"}, "192.0.2.7"},
		{"composed", httplimit.Compose(httplimit.ClientIP(), user), "",
			[]string{"192.0.2.7", "a:b c"}, "192.0.2.7:a%3Ab%20c"},
		{"the first of two", httplimit.FirstOf(user, httplimit.ClientIP()), "", []string{"a:b c"}, "%K1:a:b%20c"},
		{"secret", httplimit.APIKey("X-Api-Key"), "", []string{"very secret"}, ""},
		{"all keys hashed", httplimit.ClientIP(), "0123456789abcdef", []string{"192.0.2.7"}, ""},
		{"everyone", httplimit.Everyone(), "", nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			told := &keysTold{}
			cfg := httplimit.Config{Observer: told, Rules: []httplimit.Rule{{
				Name: "rule", Key: test.key, Limit: limiter.PerDay(1), Plans: []limiter.Limit{limiter.PerDay(5)},
			}}}
			if test.secret != "" {
				cfg.KeySecret = []byte(test.secret)
			}
			m := mustNew(t, cfg)
			send := func() int {
				w := httptest.NewRecorder()
				m.Handler(http.NotFoundHandler()).ServeHTTP(w, request)
				return w.Code
			}
			send()
			if got := send(); got != http.StatusTooManyRequests {
				t.Fatalf("got %d for the second request, want 429", got)
			}
			key, err := m.KeyOf("rule", test.parts...)
			if err != nil || key != told.keys[0] || test.want != "" && key != test.want {
				t.Fatalf("got key %q, %v, want %q, which the Observer was told: %q", key, err, test.want, told.keys)
			}
			ctx := context.Background()
			standing, err := m.PeekKey(ctx, "rule", key)
			if err != nil || len(standing.Verdicts) != 2 || standing.Verdicts[0].Allowed ||
				standing.Verdicts[1].Remaining != 4 || standing.Banned != 0 {
				t.Errorf("got %+v, %v, want refused by 1/d, 4 left of 5/d and no ban", standing, err)
			}
			if err := m.ResetKey(ctx, "rule", key); err != nil {
				t.Fatal(err)
			}
			if got := send(); got != http.StatusNotFound {
				t.Errorf("got %d after ResetKey, want the request to pass", got)
			}
		})
	}
}

func TestOperatorsKeysOfBansAndPreflights(t *testing.T) {
	m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{{
		Name: "login", Key: httplimit.ClientIP(), Limit: limiter.PerDay(1),
		Ban: httplimit.Ban{After: 2, Within: time.Minute, For: time.Hour},
	}}})
	send := func(method string) int {
		r := httptest.NewRequest(method, "/", nil)
		r.RemoteAddr = "192.0.2.7:1"
		if method == http.MethodOptions {
			r.Header.Set("Origin", "https://shop.example")
			r.Header.Set("Access-Control-Request-Method", "POST")
		}
		w := httptest.NewRecorder()
		m.Handler(http.NotFoundHandler()).ServeHTTP(w, r)
		return w.Code
	}
	for range 4 {
		send(http.MethodGet)
	}
	for range 2 {
		send(http.MethodOptions)
	}
	ctx := context.Background()
	standing, err := m.PeekKey(ctx, "login", "192.0.2.7")
	if err != nil || standing.Banned < 59*time.Minute || standing.Banned > time.Hour {
		t.Errorf("got %+v, %v, want a ban of an hour", standing, err)
	}
	if err := m.ResetKey(ctx, "login", "192.0.2.7"); err != nil {
		t.Fatal(err)
	}
	if standing, err = m.PeekKey(ctx, "login", "192.0.2.7"); err != nil || standing.Banned != 0 {
		t.Errorf("got %+v, %v, want no ban", standing, err)
	}
	for _, method := range []string{http.MethodOptions, http.MethodGet} {
		if got := send(method); got != http.StatusNotFound {
			t.Errorf("%s: got %d after ResetKey, want the request to pass", method, got)
		}
	}
}

func TestOperatorsKeysFaults(t *testing.T) {
	m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{ip(limiter.PerDay(1))}})
	ctx := context.Background()
	for name, err := range map[string]error{
		"no such rule": func() error { _, err := m.PeekKey(ctx, "other", "k"); return err }(),
		"no key":       m.ResetKey(ctx, "ip", ""),
		"too long":     m.ResetKey(ctx, "ip", strings.Repeat("k", 129)),
		"wrong parts":  func() error { _, err := m.KeyOf("ip", "a", "b"); return err }(),
		"zero":         new(httplimit.Middleware).ResetKey(ctx, "ip", "k"),
	} {
		if err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

func TestKeyParts(t *testing.T) {
	user, address := httplimit.Header("x-user"), httplimit.ClientIP()
	f := httplimit.KeyFunc(func(*http.Request) (string, error) { return "", nil })
	part := func(name string) httplimit.KeyPart { return httplimit.KeyPart{Name: name} }
	secret := func(name string) httplimit.KeyPart { return httplimit.KeyPart{Name: name, Secret: true} }
	for _, test := range []struct {
		key   httplimit.Key
		parts []httplimit.KeyPart
	}{
		{address, []httplimit.KeyPart{part("address")}},
		{user, []httplimit.KeyPart{part("header X-User")}},
		{httplimit.APIKey("x-api-key"), []httplimit.KeyPart{secret("header X-Api-Key")}},
		{httplimit.BearerToken(), []httplimit.KeyPart{secret("bearer token")}},
		{httplimit.Cookie("sid"), []httplimit.KeyPart{secret("cookie sid")}},
		{httplimit.BasicUser(), []httplimit.KeyPart{part("user name")}},
		{httplimit.ClientCert(), []httplimit.KeyPart{part("public key of the certificate")}},
		{httplimit.Route(), []httplimit.KeyPart{part("route")}},
		{httplimit.RouteOf(http.NewServeMux()), []httplimit.KeyPart{part("route")}},
		{httplimit.ContextValue("user"), []httplimit.KeyPart{part("value in the context")}},
		{f, []httplimit.KeyPart{part("value")}},
		{httplimit.Everyone(), nil},
		{httplimit.Secret(user), []httplimit.KeyPart{secret("header X-User")}},
		{httplimit.Secret(address), []httplimit.KeyPart{secret("address")}},
		{httplimit.Compose(address, user), []httplimit.KeyPart{part("address"), part("header X-User")}},
		{httplimit.FirstOf(httplimit.APIKey("K"), address), []httplimit.KeyPart{secret("header K")}},
		{httplimit.FirstOf(httplimit.Compose(address, user), address),
			[]httplimit.KeyPart{part("address"), part("header X-User")}},
		{httplimit.Compose(httplimit.FirstOf(user, address), f), []httplimit.KeyPart{part("header X-User"), part("value")}},
		{nil, nil},
	} {
		if got := httplimit.KeyParts(test.key); !slices.Equal(got, test.parts) {
			t.Errorf("%v: got parts %v, want %v", test.key, got, test.parts)
		}
	}
}

// callsOf counts the calls of a store.
type callsOf struct {
	limiter.Store
	takes int
}

func (s *callsOf) Take(ctx context.Context, charges []limiter.Charge) (bool, error) {
	s.takes++
	return s.Store.Take(ctx, charges)
}

// TestPeekKeyAsksOnce: whatever the number of plans, a store is asked once, and once more for a client that is banned.
func TestPeekKeyAsksOnce(t *testing.T) {
	memory, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	store := &callsOf{Store: memory}
	m := mustNew(t, httplimit.Config{Store: store, Rules: []httplimit.Rule{{
		Name: "login", Key: httplimit.ClientIP(), Limit: limiter.PerDay(2),
		Plans: []limiter.Limit{limiter.PerDay(5), limiter.PerHour(7), limiter.PerDay(9)},
		Ban:   httplimit.Ban{After: 2, Within: time.Minute, For: time.Hour},
	}}})
	peek := func() (standing httplimit.Standing, takes int) {
		t.Helper()
		before := store.takes
		standing, err := m.PeekKey(t.Context(), "login", "192.0.2.7")
		if err != nil {
			t.Fatal(err)
		}
		return standing, store.takes - before
	}
	left := func(s httplimit.Standing) (left []int64) {
		for _, v := range s.Verdicts {
			left = append(left, v.Remaining)
		}
		return left
	}
	allow := func() {
		if _, err := m.Allow(t.Context(), "login", "192.0.2.7"); err != nil {
			t.Fatal(err)
		}
	}
	allow()
	if s, takes := peek(); takes != 1 || !slices.Equal(left(s), []int64{1, 4, 7, 8}) || s.Banned != 0 {
		t.Errorf("after one request: %+v, %d calls; want 1, 4, 7 and 8 left, no ban, 1 call", s, takes)
	}
	for range 3 {
		allow()
	}
	if s, takes := peek(); takes != 2 || !slices.Equal(left(s), []int64{0, 0, 0, 0}) || s.Banned < 59*time.Minute {
		t.Errorf("banned: %+v, %d calls; want nothing left, a ban of an hour, 2 calls", s, takes)
	}
}
