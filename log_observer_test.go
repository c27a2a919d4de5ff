package httplimit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// records reads what a JSON handler has written, without times.
func records(t *testing.T, log *bytes.Buffer) []map[string]any {
	t.Helper()
	var all []map[string]any
	for d := json.NewDecoder(log); d.More(); {
		var one map[string]any
		if err := d.Decode(&one); err != nil {
			t.Fatal(err)
		}
		delete(one, "time")
		all = append(all, one)
	}
	return all
}

func logObserver(log *bytes.Buffer, opts httplimit.LogOptions) httplimit.Observer {
	return httplimit.LogObserver(slog.New(slog.NewJSONHandler(log, nil)), opts)
}

func TestLogObserverTellsARefusal(t *testing.T) {
	proxy := netip.MustParsePrefix("192.0.2.1/32")
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		observer := logObserver(&log, httplimit.LogOptions{Client: httplimit.ClientIP(proxy)})
		m := mustNew(t, httplimit.Config{
			Namespace: "shop", Observer: observer,
			Rules: []httplimit.Rule{
				{Name: "burst", Key: httplimit.ClientIP(proxy), Limit: limiter.PerSecond(1)},
				{Name: "token", Key: httplimit.BearerToken(), Limit: limiter.PerMinute(1), Private: true},
			},
		})
		mux := http.NewServeMux()
		mux.Handle("GET /search/{what}", m.Handler(http.NotFoundHandler()))
		for range 2 {
			r := httptest.NewRequest(http.MethodGet, "/search/secret?q=hidden", nil)
			r.RemoteAddr = "192.0.2.1:1234"
			r.Header.Set("X-Forwarded-For", "198.51.100.7")
			r.Header.Set("Authorization", "Bearer s3cret")
			mux.ServeHTTP(httptest.NewRecorder(), r)
		}
		text := log.String()
		for _, secret := range []string{"s3cret", "hidden", "/secret"} {
			if strings.Contains(text, secret) {
				t.Errorf("%q stands in the log: %s", secret, text)
			}
		}
		all := records(t, &log)
		if len(all) != 1 {
			t.Fatalf("got %d records, want 1: %s", len(all), text)
		}
		got := all[0]
		if key, _ := got["key"].(string); len(key) < 20 {
			t.Errorf("got the key %q, want a hash", key)
		}
		if wait, _ := got["retry_after"].(float64); time.Duration(wait) <= 0 || time.Duration(wait) > 2*time.Minute {
			t.Errorf("got retry_after %v", got["retry_after"])
		}
		delete(got, "key")
		delete(got, "retry_after")
		want := map[string]any{
			"level": "INFO", "msg": "httplimit: refused", "namespace": "shop", "rule": "token", "limit": "1/m",
			"result": "refused", "source": "store", "status": 429.0, "address": "198.51.100.7", "method": "GET",
			"route": "GET /search/{what}",
		}
		if !mapsEqual(got, want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
	})
}

func mapsEqual(a, b map[string]any) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if b[k] != v {
			return false
		}
	}
	return true
}

// TestLogObserverSamples: a flood of one rule is a few records a second, none is lost from the count, and another
// rule's are written all the same.
func TestLogObserverSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		m := mustNew(t, httplimit.Config{
			Observer: logObserver(&log, httplimit.LogOptions{PerSecond: 3}),
			Rules: []httplimit.Rule{
				{Name: "flood", Key: httplimit.KeyFunc(func(*http.Request) (string, error) { return "", httplimit.ErrSkip }),
					Limit: limiter.PerDay(1)},
				{Name: "other", Key: httplimit.Everyone(), Limit: limiter.PerDay(1)},
			},
		})
		allow := func(rule string, key ...string) {
			t.Helper()
			if _, err := m.Allow(context.Background(), rule, key...); err != nil {
				t.Fatal(err)
			}
		}
		for range 1001 {
			allow("flood", "a")
		}
		for range 2 {
			allow("other")
		}
		time.Sleep(time.Second)
		for range 4 {
			allow("flood", "a")
		}
		time.Sleep(time.Second)
		allow("flood", "a")
		var told []string
		for _, one := range records(t, &log) {
			text := one["rule"].(string)
			if left, ok := one["left_out"].(float64); ok {
				text += " " + time.Duration(left).String()
			}
			if _, is := one["method"]; is {
				t.Errorf("a record about Allow has a method: %v", one)
			}
			told = append(told, text)
		}
		want := []string{"flood", "flood", "flood", "other", "flood 997ns", "flood", "flood", "flood 1ns"}
		if !slices.Equal(told, want) {
			t.Errorf("got  %q\nwant %q", told, want)
		}
	})
}

func TestLogObserverKinds(t *testing.T) {
	everyone := func(limit limiter.Limit) httplimit.Rule {
		return httplimit.Rule{Name: "all", Key: httplimit.Everyone(), Limit: limit}
	}
	shadow, closed := everyone(limiter.PerDay(0)), everyone(limiter.PerDay(1))
	shadow.Shadow = true
	closed.Failure = httplimit.FailClosed
	for name, c := range map[string]struct {
		rule  httplimit.Rule
		opts  httplimit.LogOptions
		store limiter.Store
		want  string // msg, level, result, status
	}{
		"passed": {rule: everyone(limiter.PerDay(1))},
		"never":  {rule: everyone(limiter.PerDay(0)), want: "httplimit: refused INFO refused 429 never"},
		"level": {
			rule: everyone(limiter.PerDay(0)), opts: httplimit.LogOptions{Level: slog.LevelError},
			want: "httplimit: refused ERROR refused 429 never",
		},
		"below the handler": {rule: everyone(limiter.PerDay(0)), opts: httplimit.LogOptions{Level: slog.LevelDebug}},
		"undecided": {
			rule: closed, store: &scripted{err: errors.New("down")},
			want: "httplimit: refused WARN closed 503 <nil>",
		},
		"shadow, not asked": {rule: shadow},
		"shadow": {
			rule: shadow, opts: httplimit.LogOptions{Shadow: true},
			want: "httplimit: a shadow rule would have refused this request INFO shadow_refused <nil> never",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			m := mustNew(t, httplimit.Config{
				Rules: []httplimit.Rule{c.rule}, Store: c.store, Observer: logObserver(&log, c.opts),
			})
			m.Handler(http.NotFoundHandler()).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
			got := ""
			for _, one := range records(t, &log) {
				got += strings.TrimSpace(strings.Join([]string{
					one["msg"].(string), one["level"].(string), one["result"].(string),
					jsonText(one["status"]), jsonText(one["retry_after"]),
				}, " "))
			}
			if got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func jsonText(v any) string {
	if v == nil {
		return "<nil>"
	}
	text, _ := json.Marshal(v)
	return strings.Trim(string(text), `"`)
}

func TestLogObserverFaults(t *testing.T) {
	for name, client := range map[string]httplimit.Key{
		"want a Key made by ClientIP": httplimit.Header("X-User"),
		"TrustedProxies":              httplimit.ClientIPFrom(httplimit.ClientIPConfig{Header: "X-Forwarded-For"}),
	} {
		cfg := httplimit.Config{
			Rules:    []httplimit.Rule{ip(limiter.PerDay(1))},
			Observer: httplimit.Observers(httplimit.LogObserver(nil, httplimit.LogOptions{Client: client}), silent{}),
		}
		var fault *httplimit.ConfigError
		err := cfg.Validate()
		if !errors.As(err, &fault) || fault.Field != "Observer" || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want a fault of Observer with %q", err, name)
		}
	}
}

type silent struct{}

func (silent) Observe(context.Context, *httplimit.Observation) {}

// TestLogObserverAllocatesNothing: what passes, and what is left out of a flood.
func TestLogObserverAllocatesNothing(t *testing.T) {
	m := mustNew(t, httplimit.Config{
		Rules:    []httplimit.Rule{ip(limiter.PerDay(1))},
		Observer: httplimit.LogObserver(slog.New(slog.NewTextHandler(io.Discard, nil)), httplimit.LogOptions{}),
	})
	observed := &httplimit.Observation{Status: 429, Namespace: "shop", Rules: []httplimit.Observed{
		{Result: httplimit.ResultRefused, Verdict: httplimit.Verdict{Rule: "login"}},
	}}
	o := m.Config().Observer
	for range 20 {
		o.Observe(context.Background(), observed)
	}
	if got := testing.AllocsPerRun(100, func() { o.Observe(context.Background(), observed) }); got > 0 {
		t.Errorf("a record that is left out costs %v allocations", got)
	}
	observed.Status = 0
	if got := testing.AllocsPerRun(100, func() { o.Observe(context.Background(), observed) }); got > 0 {
		t.Errorf("a request that passes costs %v allocations", got)
	}
}
