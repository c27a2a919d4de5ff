package httplimit_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

var keySecret = []byte("0123456789abcdef")

// TestPreflightsHaveKeysOfTheirOwn: the mark stands before the key that the request would have, NoKey's too, and in
// what is hashed.
func TestPreflightsHaveKeysOfTheirOwn(t *testing.T) {
	long := strings.Repeat("x", 125) // and a mark of three bytes
	missing := httplimit.Header("X-Missing")
	both := httplimit.Compose(httplimit.Header("X-A"), httplimit.ClientIP())
	for _, tt := range []struct {
		name       string
		key, noKey httplimit.Key
		secret     []byte
		headers    []string
		want       string // "#": a hash
	}{
		{name: "an address", key: httplimit.ClientIP(), want: "%P:192.0.2.1"},
		{name: "everyone", key: httplimit.Everyone(), want: "%P:"},
		{name: "NoKey", key: missing, want: "%P:%N:192.0.2.1"},
		{name: "NoKey of everyone", key: missing, noKey: httplimit.Everyone(), want: "%P:%N:"},
		{name: "nobody", key: missing, noKey: missing, want: "%P:%U"},
		{name: "alternatives", key: httplimit.FirstOf(missing, httplimit.ClientIP()), want: "%P:%K2:192.0.2.1"},
		{name: "parts", key: both, headers: []string{"X-A", "a:b"}, want: "%P:a%3Ab:192.0.2.1"},
		{name: "ambiguous", key: httplimit.Header("X-A"), headers: []string{"X-A", "a", "X-A", "b"}, want: "%P:%M"},
		{name: "as long as can be", key: httplimit.Header("X-A"), headers: []string{"X-A", long}, want: "%P:" + long},
		{name: "too long with the mark", key: httplimit.Header("X-A"), headers: []string{"X-A", long + "x"}, want: "#"},
		{name: "a secret", key: httplimit.APIKey("X-A"), headers: []string{"X-A", "a"}, want: "#"},
		{name: "under a KeySecret", key: httplimit.ClientIP(), secret: keySecret, want: "#"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			store := &scripted{}
			m := mustNew(t, httplimit.Config{Store: store, KeySecret: tt.secret, Rules: []httplimit.Rule{
				{Name: "r", Key: tt.key, NoKey: tt.noKey, Limit: limiter.PerMinute(5)}}})
			plain := preflight()
			plain.Method = http.MethodPost
			for _, r := range []*http.Request{preflight(), plain} {
				for i := 0; i < len(tt.headers); i += 2 {
					r.Header.Add(tt.headers[i], tt.headers[i+1])
				}
				serveRequest(m, r)
			}
			asked := store.charges()
			if len(asked) != 2 {
				t.Fatalf("got %d charges of two requests, want 2", len(asked))
			}
			got, other := asked[0].Key, asked[1].Key
			if got == other {
				t.Errorf("the preflight and the POST have the key %q, want two", got)
			}
			if got != tt.want && (tt.want != "#" || len(got) != 23 || got[0] != '#') {
				t.Errorf("the key of the preflight is %q, want %q", got, tt.want)
			}
			if tt.want != "#" && "%P:"+other != got {
				t.Errorf("the keys are %q and %q, want them to differ by the mark", got, other)
			}
		})
	}
}

// TestNoRequestPaysForItsPreflight: each kind has the whole limit, nobody more than that.
func TestNoRequestPaysForItsPreflight(t *testing.T) {
	m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{ip(limiter.PerDay(3))}})
	count := func(request func() *http.Request) (passed int) {
		for range 10 {
			if serveRequest(m, request()).Code == http.StatusOK {
				passed++
			}
		}
		return passed
	}
	if got := count(preflight); got != 3 {
		t.Errorf("%d of 10 preflights passed, want 3", got)
	}
	if got := count(get); got != 3 {
		t.Errorf("%d of 10 requests passed after the preflights, want 3", got)
	}
}

// TestAnonymousRequestsUseUpNobodysPreflight: behind a load balancer all requests without a token are its own. A
// browser whose preflight they used up could not send the request that has one.
func TestAnonymousRequestsUseUpNobodysPreflight(t *testing.T) {
	m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{{
		Name: "token", Key: httplimit.BearerToken(), Limit: limiter.PerDay(3)}}})
	for range 9 {
		serveRequest(m, get())
	}
	post := httptest.NewRequest(http.MethodPost, "/", nil)
	post.Header.Set("Authorization", "Bearer t0k3n")
	for _, r := range []*http.Request{preflight(), post} {
		if got := serveRequest(m, r).Code; got != http.StatusOK {
			t.Errorf("%s after anonymous requests: got %d, want 200", r.Method, got)
		}
	}
}

// TestResetFreesPreflights: an operator who unblocks a client frees the browser as a whole, in the store and where the
// store was away.
func TestResetFreesPreflights(t *testing.T) {
	for name, secret := range map[string][]byte{"in clear": nil, "under a KeySecret": keySecret} {
		for _, down := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", store down ", down), func(t *testing.T) {
				cfg := httplimit.Config{
					Rules:     []httplimit.Rule{ip(limiter.PerDay(1))},
					KeySecret: secret,
				}
				store := &scripted{err: errDown}
				if down {
					cfg.Store = store
				}
				m := mustNew(t, cfg)
				for _, want := range []int{200, 429} {
					if got := serveRequest(m, preflight()).Code; got != want {
						t.Errorf("preflight: got %d, want %d", got, want)
					}
				}
				store.fail(nil) // else Reset could not reach it
				if err := m.Reset(context.Background(), "ip", "192.0.2.1"); err != nil {
					t.Fatal(err)
				}
				store.fail(errDown)
				if got := serveRequest(m, preflight()).Code; got != http.StatusOK {
					t.Errorf("preflight after Reset: got %d, want 200", got)
				}
			})
		}
	}
}

// TestPeekAndAllowCountNoPreflight: they are about the requests that a handler sees.
func TestPeekAndAllowCountNoPreflight(t *testing.T) {
	m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{ip(limiter.PerDay(3))}})
	serveRequest(m, preflight())
	if got := remaining(t, m, "ip"); got != 3 {
		t.Errorf("remaining after a preflight: got %d, want 3", got)
	}
	if v, err := m.Allow(context.Background(), "ip", "192.0.2.1"); err != nil || v.Remaining != 2 {
		t.Errorf("Allow after a preflight: got %+v, %v, want 2 remaining", v, err)
	}
}

// TestRefusedPreflightIsLoggedOnce: browsers show no status, so the log has to tell.
func TestRefusedPreflightIsLoggedOnce(t *testing.T) {
	for name, store := range map[string]limiter.Store{"by the store": nil, "in this process": &scripted{err: errDown}} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{ip(limiter.PerDay(1))}, Store: store,
				Logger: slog.New(slog.NewTextHandler(&log, nil))})
			for range 3 {
				serveRequest(m, get())
			}
			if strings.Contains(log.String(), "preflight") {
				t.Errorf("requests that are no preflights were logged as such: %s", log.String())
			}
			for range 5 {
				serveRequest(m, preflight())
			}
			if got := strings.Count(log.String(), "CORS"); got == 0 || strings.Count(log.String(), "preflight-refused") != 1 {
				t.Errorf("the log is %q, want one line about a refused preflight that names CORS", log.String())
			}
		})
	}
}
