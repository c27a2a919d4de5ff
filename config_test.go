package httplimit_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// fields lists what New complains about.
func fields(err error) []string {
	var list []string
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			var fault *httplimit.ConfigError
			if errors.As(e, &fault) && fault.Reason != "" {
				list = append(list, fault.Field)
			}
		}
	}
	return list
}

func TestNewNamesEveryFault(t *testing.T) {
	ok := httplimit.Rule{Name: "ok", Key: httplimit.Everyone(), Limit: limiter.PerMinute(5)}
	with := func(change func(*httplimit.Rule)) httplimit.Config {
		r := ok
		change(&r)
		return httplimit.Config{Rules: []httplimit.Rule{r}}
	}
	tests := map[string]struct {
		cfg  httplimit.Config
		want []string
	}{
		"no rules":         {httplimit.Config{}, []string{"Rules"}},
		"empty name":       {with(func(r *httplimit.Rule) { r.Name = "" }), []string{"Rules[0].Name"}},
		"long name":        {with(func(r *httplimit.Rule) { r.Name = strings.Repeat("n", 65) }), []string{"Rules[0].Name"}},
		"unprintable name": {with(func(r *httplimit.Rule) { r.Name = "a\nb" }), []string{"Rules[0].Name"}},
		"name not ASCII":   {with(func(r *httplimit.Rule) { r.Name = "débit" }), []string{"Rules[0].Name"}},
		"no key":           {with(func(r *httplimit.Rule) { r.Key = nil }), []string{"Rules[0].Key"}},
		"nil key function": {with(func(r *httplimit.Rule) { r.Key = httplimit.KeyFunc(nil) }), []string{"Rules[0].Key"}},
		"zero limit":       {with(func(r *httplimit.Rule) { r.Limit = limiter.Limit{} }), []string{"Rules[0].Limit"}},
		"fraction of a ms": {
			with(func(r *httplimit.Rule) { r.Limit = limiter.Per(1, 1500*time.Microsecond) }),
			[]string{"Rules[0].Limit"},
		},
		"burst of a window": {with(func(r *httplimit.Rule) { r.Limit.Burst = 5 }), []string{"Rules[0].Limit"}},
		"unknown policy":    {with(func(r *httplimit.Rule) { r.Failure = 9 }), []string{"Rules[0].Failure"}},
		"duplicate names":   {httplimit.Config{Rules: []httplimit.Rule{ok, ok}}, []string{"Rules[1].Name"}},
		"bad namespace":     {httplimit.Config{Rules: []httplimit.Rule{ok}, Namespace: "a/b"}, []string{"Namespace"}},
		"long namespace": {
			httplimit.Config{Rules: []httplimit.Rule{ok}, Namespace: strings.Repeat("n", 65)},
			[]string{"Namespace"},
		},
		"short secret": {
			httplimit.Config{Rules: []httplimit.Rule{ok}, KeySecret: []byte("15 bytes, alas.")},
			[]string{"KeySecret"},
		},
		"empty secret": {httplimit.Config{Rules: []httplimit.Rule{ok}, KeySecret: []byte{}}, []string{"KeySecret"}},
		"negative instances": {httplimit.Config{Rules: []httplimit.Rule{ok}, Instances: -1},
			[]string{"Instances"}},
		"two RateLimit styles": {
			httplimit.Config{Rules: []httplimit.Rule{ok}, Headers: httplimit.RateLimitFields | httplimit.RateLimitDraft07},
			[]string{"Headers"},
		},
		"two X styles": {
			httplimit.Config{Rules: []httplimit.Rule{ok}, Headers: httplimit.XRateLimitDelta | httplimit.XRateLimitEpoch},
			[]string{"Headers"},
		},
		"none and another": {
			httplimit.Config{Rules: []httplimit.Rule{ok}, Headers: httplimit.NoHeaders | httplimit.XRateLimitEpoch},
			[]string{"Headers"},
		},
		"unknown style": {httplimit.Config{Rules: []httplimit.Rule{ok}, Headers: 1 << 12}, []string{"Headers"}},
		"a limit that the store cannot run": {httplimit.Config{Rules: []httplimit.Rule{ok}, Store: &picky{}},
			[]string{"Rules[0].Limit"}},
		"a nil store of some type": {httplimit.Config{Rules: []httplimit.Rule{ok}, Store: (*picky)(nil)}, []string{"Store"}},
		"all at once": {httplimit.Config{Namespace: "a b", KeySecret: []byte("x"), Instances: -1, Headers: 1 << 12,
			Rules: []httplimit.Rule{{Failure: 9}, ok, ok}},
			[]string{
				"Namespace",
				"KeySecret",
				"Instances",
				"Headers",
				"Rules[0].Name",
				"Rules[0].Limit",
				"Rules[0].Failure",
				"Rules[0].Key",
				"Rules[2].Name",
			}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m, err := httplimit.New(tt.cfg)
			if m != nil || err == nil {
				t.Fatalf("got %v, %v, want an error", m, err)
			}
			if got := strings.Join(fields(err), " "); got != strings.Join(tt.want, " ") {
				t.Errorf("faults:\n got %s\nwant %s\n(%v)", got, strings.Join(tt.want, " "), err)
			}
			if early := tt.cfg.Validate(); early == nil || early.Error() != err.Error() {
				t.Errorf("Validate: got %v, want what New says, %v", early, err)
			}
		})
	}
}

// TestConfigErrorNamesTheRule: the index alone does not tell which of three Middlewares is meant.
func TestConfigErrorNamesTheRule(t *testing.T) {
	login := httplimit.Rule{Name: "login", Key: httplimit.Everyone(), Failure: 9, Limit: limiter.PerMinute(5)}
	deep := httplimit.Rule{
		Name: "deep", Limit: limiter.PerMinute(5), Key: httplimit.Compose(httplimit.Everyone(), httplimit.Header("")),
	}
	tests := map[string]struct {
		cfg       httplimit.Config
		rule      string
		namespace string
		text      string // how the error begins
	}{
		"a rule": {
			httplimit.Config{Rules: []httplimit.Rule{login}}, "login", "", `httplimit: Rules[0] "login".Failure: 9 is`,
		},
		"in a namespace": {
			httplimit.Config{Namespace: "shop", Rules: []httplimit.Rule{login}}, "login", "shop",
			`httplimit: namespace "shop": Rules[0] "login".Failure: 9 is`,
		},
		"a part of a key": {
			httplimit.Config{Rules: []httplimit.Rule{deep}}, "deep", "", `httplimit: Rules[0] "deep".Key.Compose[1]: `,
		},
		"a name that is no name": {
			httplimit.Config{Rules: []httplimit.Rule{{Name: "a\nb", Key: httplimit.Everyone(), Limit: limiter.PerDay(1)}}},
			"", "", `httplimit: Rules[0].Name: "a\nb" is not`,
		},
		"a name with a bracket": {
			httplimit.Config{Rules: []httplimit.Rule{{Name: `a]"b`, Key: httplimit.Everyone()}}},
			`a]"b`, "", `httplimit: Rules[0] "a]\"b".Limit: `,
		},
		"no rule's field": {
			httplimit.Config{Namespace: "shop", Instances: -1, Rules: []httplimit.Rule{
				{Name: "ok", Key: httplimit.Everyone(), Limit: limiter.PerDay(1)},
			}},
			"", "shop", `httplimit: namespace "shop": Instances: -1 is`,
		},
		"a namespace that is none": {
			httplimit.Config{Namespace: "a b", Rules: []httplimit.Rule{login}}, "", "", `httplimit: Namespace: "a b" is not`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := httplimit.New(tt.cfg)
			var fault *httplimit.ConfigError
			if !errors.As(err, &fault) {
				t.Fatalf("got %v, want a ConfigError", err)
			}
			if fault.Rule != tt.rule || fault.Namespace != tt.namespace || !strings.HasPrefix(fault.Error(), tt.text) {
				t.Errorf("got rule %q, namespace %q, %s\nwant rule %q, namespace %q, %s...",
					fault.Rule, fault.Namespace, fault, tt.rule, tt.namespace, tt.text)
			}
		})
	}
}

// TestValidateMakesNothing: no goroutine, no log line, no call of the store but Check, and nothing that a Middleware in
// force notices.
func TestValidateMakesNothing(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	store := &scripted{}
	cfg := httplimit.Config{
		Store: store, Logger: slog.Default(),
		Rules: []httplimit.Rule{{
			Name: "ip", Key: httplimit.ClientIP(netip.MustParsePrefix("10.0.0.0/8")), Limit: limiter.PerDay(1), Shadow: true,
			When: func(*http.Request) bool { t.Error("When was called"); return true },
			LimitFunc: func(*http.Request) (limiter.Limit, error) {
				t.Error("LimitFunc was called")
				return limiter.Limit{}, nil
			},
		}},
	}
	goroutines := runtime.NumGoroutine()
	for range 100 {
		if err := cfg.Validate(); err != nil {
			t.Fatal(err)
		}
	}
	cfg.Store = nil
	if err := cfg.Validate(); err != nil {
		t.Errorf("without a Store: got %v, want no fault", err)
	}
	if got := runtime.NumGoroutine(); got > goroutines {
		t.Errorf("%d goroutines after 100 calls, %d before", got, goroutines)
	}
	if log.Len() > 0 || len(store.charges()) > 0 {
		t.Errorf("Validate logged %q and asked the store %d times, want neither", &log, len(store.charges()))
	}
}

// picky is a store that refuses every limit.
type picky struct{ scripted }

func (*picky) Check(limiter.Limit) error { return limiter.ErrUnsupported }

func TestNewTakesTheExtremes(t *testing.T) {
	_, err := httplimit.New(httplimit.Config{
		Namespace: strings.Repeat(
			"n",
			64,
		), KeySecret: []byte("16 bytes, enough"), Headers: httplimit.RateLimitDraft06 | httplimit.XRateLimitDelta,
		Rules: []httplimit.Rule{
			{Name: strings.Repeat("n", 64), Key: httplimit.Everyone(), Limit: limiter.Per(1_000_000_000, 366*24*time.Hour)},
			{Name: " ~\"\\", Key: httplimit.Everyone(), Limit: limiter.Per(1, time.Millisecond)},
		},
	})
	if err != nil {
		t.Errorf("got %v, want no fault", err)
	}
}

func TestZeroMiddlewarePassesEverything(t *testing.T) {
	var m httplimit.Middleware
	for range 3 {
		if w := serve(&m, "192.0.2.7:1"); w.Code != http.StatusOK || len(w.Header()["Ratelimit"]) != 0 {
			t.Fatalf("got status %d and fields %v, want 200 and none", w.Code, w.Header())
		}
	}
	if err := m.Reconfigure(httplimit.Config{}); err == nil {
		t.Error("Reconfigure of the zero Middleware: got no error")
	}
	if h := m.Health(); h != nil {
		t.Errorf("Health: got %v, want none", h)
	}
}

func TestTooManyWindows(t *testing.T) {
	rule := func(i int) httplimit.Rule {
		return httplimit.Rule{
			Name:  fmt.Sprint("rule ", i),
			Key:   httplimit.Everyone(),
			Limit: limiter.Per(1, time.Duration(i+1)*time.Second),
		}
	}
	var rules []httplimit.Rule
	for i := range 65 {
		rules = append(rules, rule(i))
	}
	_, err := httplimit.New(httplimit.Config{Rules: rules})
	if got := fields(err); len(got) != 1 || got[0] != "Rules[64].Limit" {
		t.Errorf("65 windows: faults of %q, want of Rules[64].Limit", got)
	}

	// A LimitFunc that makes them up does not switch the limiter off.
	tenant := 0
	made := rule(0)
	made.LimitFunc = func(*http.Request) (limiter.Limit, error) {
		tenant++
		return limiter.Per(1, time.Duration(tenant)*time.Hour), nil
	}
	m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{made}})
	refused := 0
	for range 200 {
		if serve(m, "192.0.2.7:1").Code == http.StatusTooManyRequests {
			refused++
		}
	}
	if refused < 100 {
		t.Errorf("of 200 requests under ever new windows %d were refused, want all after the first 64", refused)
	}
}

// TestTooManyWindowsAtOnce: whatever many requests ask for at the same time, no window above the bound reaches the
// store.
func TestTooManyWindowsAtOnce(t *testing.T) {
	var made atomic.Int64
	rule := httplimit.Rule{Name: "tenant", Key: httplimit.Everyone(), Limit: limiter.PerHour(1 << 20)}
	rule.LimitFunc = func(*http.Request) (limiter.Limit, error) {
		return limiter.Per(1<<20, time.Duration(min(made.Add(1), 200))*time.Minute), nil
	}
	store := &scripted{}
	m := mustNew(t, httplimit.Config{Store: store, Rules: []httplimit.Rule{rule}})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				serve(m, "192.0.2.1:1")
			}
		})
	}
	wg.Wait()
	windows := map[time.Duration]bool{}
	for _, c := range store.charges() {
		windows[c.Limit.Window] = true
	}
	if len(windows) != 64 {
		t.Errorf("%d windows reached the store, want 64", len(windows))
	}
}
