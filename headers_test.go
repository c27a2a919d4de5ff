package httplimit_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

type headerPolicy struct {
	Name       string  `json:"name"`
	Limit      int64   `json:"limit"`
	Window     *int64  `json:"window_ns"`
	Remaining  int64   `json:"remaining"`
	Reset      *int64  `json:"reset_ns"`
	Unit       string  `json:"unit"`
	Partition  *string `json:"partition_key_b64"`
	Violated   bool    `json:"violated"`
	RetryAfter *int64  `json:"retry_after_ns"`
}

type headerCase struct {
	ID       string         `json:"id"`
	Dialect  string         `json:"dialect"`
	Denied   bool           `json:"denied"`
	Policies []headerPolicy `json:"policies"`
	Now      int64          `json:"now_unix_ns"`
	Expect   struct {
		Headers [][2]string    `json:"headers"`
		Problem map[string]any `json:"problem"`
		Error   string         `json:"error"`
	} `json:"expect"`
}

var dialects = map[string]httplimit.HeaderStyle{
	"draft-08":          httplimit.RateLimitFields,
	"draft-07":          httplimit.RateLimitDraft07,
	"draft-06":          httplimit.RateLimitDraft06,
	"x-ratelimit-epoch": httplimit.XRateLimitEpoch,
	"x-ratelimit-delta": httplimit.XRateLimitDelta,
}

// inexpressible says why a vector cannot be configured here, "" if it can.
func (hc headerCase) inexpressible() string {
	if _, ok := dialects[hc.Dialect]; !ok {
		return "no such style"
	}
	for _, p := range hc.Policies {
		switch {
		case p.Unit != "" && p.Unit != "requests":
			return "no units but requests"
		case p.Partition != nil:
			return "no partition keys"
		case p.Window == nil, p.Reset == nil && p.Limit > 0:
			return "every limit has a window, and but for 0 a reset"
		case *p.Window%int64(time.Millisecond) != 0:
			return "windows are whole milliseconds"
		case p.Limit < 0 || p.Limit > 1_000_000_000:
			return "limits are 0 to 1e9"
		}
	}
	return ""
}

func TestHeaderVectors(t *testing.T) {
	var file struct {
		Cases []headerCase `json:"cases"`
	}
	readVectors(t, "headers.json", &file)
	skipped := map[string]int{}
	for _, hc := range file.Cases {
		if why := hc.inexpressible(); why != "" {
			skipped[why]++
			continue
		}
		t.Run(hc.ID, func(t *testing.T) { runHeaderCase(t, hc) })
	}
	// Were a style or a range added, the vectors for it must no longer be passed over.
	want := map[string]int{
		"no such style": 5, "no units but requests": 4, "no partition keys": 2,
		"every limit has a window, and but for 0 a reset": 1, "limits are 0 to 1e9": 2,
	}
	for why, n := range want {
		if skipped[why] != n {
			t.Errorf("%d vectors passed over because %s, want %d", skipped[why], why, n)
		}
	}
	if len(skipped) != len(want) {
		t.Errorf("vectors passed over: %v, want %v", skipped, want)
	}
}

func runHeaderCase(t *testing.T, hc headerCase) {
	store := &scripted{}
	byName := map[string]headerPolicy{}
	cfg := httplimit.Config{Store: store, Headers: dialects[hc.Dialect]}
	for _, p := range hc.Policies {
		byName[p.Name] = p
		cfg.Rules = append(cfg.Rules, httplimit.Rule{
			Name: p.Name, Key: httplimit.Everyone(), Limit: limiter.Per(p.Limit, time.Duration(*p.Window)),
		})
	}
	store.answer = func(c *limiter.Charge) {
		p := byName[strings.TrimPrefix(c.Scope, "/")]
		c.Decision = limiter.Decision{Allowed: !p.Violated, Remaining: p.Remaining}
		if p.Reset != nil {
			c.ResetAfter = time.Duration(*p.Reset)
		}
		if p.Violated && p.RetryAfter == nil {
			c.RetryAfter = limiter.Never
		} else if p.Violated {
			c.RetryAfter = time.Duration(*p.RetryAfter)
		}
	}
	m, err := httplimit.New(cfg)
	if hc.Expect.Error != "" {
		var fault *httplimit.ConfigError
		if !errors.As(err, &fault) || !strings.HasSuffix(fault.Field, ".Name") {
			t.Fatalf("New: got error %v, want one that names the field Name (%s)", err, hc.Expect.Error)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	var w *httptest.ResponseRecorder
	atUnixNano(t, hc.Now, func() { w = serve(m, "192.0.2.7:1") })

	if denied := w.Code == http.StatusTooManyRequests; denied != hc.Denied {
		t.Fatalf("got status %d, want denied = %v", w.Code, hc.Denied)
	}
	got := map[string][]string{}
	for name, values := range w.Header() {
		if strings.Contains(name, "Ratelimit") || name == "Retry-After" {
			got[name] = values
		}
	}
	for _, line := range hc.Expect.Headers {
		name := http.CanonicalHeaderKey(line[0])
		if want := []string{line[1]}; !slices.Equal(got[name], want) {
			t.Errorf("%s: got %q, want %q", line[0], got[name], want)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("fields that should not be there: %q", got)
	}
	if hc.Expect.Problem != nil {
		checkProblem(t, w, hc.Expect.Problem)
	}
}

// atUnixNano runs f when the clock shows that time, or at once if it is 0.
func atUnixNano(t *testing.T, now int64, f func()) {
	t.Helper()
	if now == 0 {
		f()
		return
	}
	synctest.Test(t, func(*testing.T) {
		time.Sleep(time.Until(time.Unix(0, now)))
		f()
	})
}

func TestRetryAfterVectors(t *testing.T) {
	var file struct {
		Cases []struct {
			ID       string          `json:"id"`
			Category string          `json:"category"`
			Waits    []*int64        `json:"waits_ns"`
			Expect   json.RawMessage `json:"expect"`
			Cap      int64           `json:"cap_s"`
			Jitter   int64           `json:"jitter_s"`
		} `json:"cases"`
	}
	readVectors(t, "retry_after.json", &file)
	ran := 0
	for _, rc := range file.Cases {
		if rc.Category != "emit" || rc.Cap != 0 || rc.Jitter != 0 {
			continue // the cap is fixed and there is no jitter here
		}
		ran++
		t.Run(rc.ID, func(t *testing.T) {
			waits := map[string]*int64{}
			cfg := httplimit.Config{
				Headers: httplimit.NoHeaders,
				Rules:   []httplimit.Rule{{Name: "calm", Key: httplimit.Everyone(), Limit: limiter.PerDay(1)}},
			}
			for i, wait := range rc.Waits {
				name := string(rune('a' + i))
				waits["/"+name] = wait
				cfg.Rules = append(cfg.Rules, httplimit.Rule{Name: name, Key: httplimit.Everyone(), Limit: limiter.PerDay(1)})
			}
			cfg.Store = &scripted{answer: func(c *limiter.Charge) {
				wait, violated := waits[c.Scope]
				switch {
				case !violated:
					c.Decision = limiter.Decision{Allowed: true}
				case wait == nil:
					c.Decision = limiter.Decision{RetryAfter: limiter.Never}
				default:
					c.Decision = limiter.Decision{RetryAfter: time.Duration(*wait)}
				}
			}}
			w := serve(mustNew(t, cfg), "192.0.2.7:1")
			got, want := w.Header()["Retry-After"], []string(nil)
			var text string
			if err := json.Unmarshal(rc.Expect, &text); err == nil && text != "" {
				want = []string{text}
			}
			if !slices.Equal(got, want) {
				t.Errorf("waits of %v ns: got Retry-After %q, want %q", deref(rc.Waits), got, want)
			}
		})
	}
	if ran < 15 {
		t.Errorf("only %d vectors ran", ran)
	}
}

func deref(list []*int64) (out []any) {
	for _, p := range list {
		if p == nil {
			out = append(out, nil)
			continue
		}
		out = append(out, *p)
	}
	return out
}

func TestHeaderStyles(t *testing.T) {
	tests := map[string]struct {
		style httplimit.HeaderStyle
		want  []string // names of the fields of a refusal
	}{
		"zero is the newest draft": {0, []string{"Ratelimit", "Ratelimit-Policy", "Retry-After"}},
		"a RateLimit and an X style together": {httplimit.RateLimitFields | httplimit.XRateLimitEpoch,
			[]string{
				"Ratelimit",
				"Ratelimit-Policy",
				"Retry-After",
				"X-Ratelimit-Limit",
				"X-Ratelimit-Remaining",
				"X-Ratelimit-Reset",
			}},
		"an X style alone": {
			httplimit.XRateLimitDelta,
			[]string{"Retry-After", "X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"},
		},
		"none keeps Retry-After": {httplimit.NoHeaders, []string{"Retry-After"}},
		"draft 06 has four fields": {
			httplimit.RateLimitDraft06,
			[]string{"Ratelimit-Limit", "Ratelimit-Policy", "Ratelimit-Remaining", "Ratelimit-Reset", "Retry-After"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := mustNew(
				t,
				httplimit.Config{
					Headers: tt.style,
					Rules:   []httplimit.Rule{{Name: "ip", Key: httplimit.ClientIP(), Limit: limiter.PerDay(1)}},
				},
			)
			serve(m, "192.0.2.7:1")
			w := serve(m, "192.0.2.7:1")
			var got []string
			for name := range w.Header() {
				if name != "Content-Type" && name != "Cache-Control" {
					got = append(got, name)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, tt.want) {
				t.Errorf("fields of the refusal: got %q, want %q", got, tt.want)
			}
			exposed := tt.style.Names()
			for i := range exposed {
				exposed[i] = http.CanonicalHeaderKey(exposed[i])
			}
			slices.Sort(exposed)
			if tt.style != httplimit.NoHeaders && !slices.Equal(exposed, tt.want) {
				t.Errorf("Names: got %q, want %q", exposed, tt.want)
			}
		})
	}
}

func TestFieldsAreAddedToThoseOfOtherLayers(t *testing.T) {
	inner := mustNew(
		t,
		httplimit.Config{Rules: []httplimit.Rule{{Name: "inner", Key: httplimit.ClientIP(), Limit: limiter.PerDay(5)}}},
	)
	outer := mustNew(
		t,
		httplimit.Config{Rules: []httplimit.Rule{{Name: "outer", Key: httplimit.ClientIP(), Limit: limiter.PerDay(9)}}},
	)
	w := httptest.NewRecorder()
	outer.Handler(inner.Handler(http.NotFoundHandler())).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	want := []string{`"outer";q=9;w=86400`, `"inner";q=5;w=86400`}
	if got := w.Header()["Ratelimit-Policy"]; !slices.Equal(got, want) {
		t.Errorf("RateLimit-Policy: got %q, want %q", got, want)
	}
	if got := w.Header()["Ratelimit"]; len(got) != 2 {
		t.Errorf("RateLimit: got %q, want a line of each", got)
	}
}

func TestRoomInTheSlicesOfOtherLayersIsNotWrittenTo(t *testing.T) {
	m := mustNew(
		t,
		httplimit.Config{Rules: []httplimit.Rule{{Name: "ip", Key: httplimit.ClientIP(), Limit: limiter.PerDay(5)}}},
	)
	o := m.Check(httplimit.HTTPRequest(get()))
	policies, standings := []string{`"cdn";q=9;w=1`, "spare"}, []string{`"cdn";r=8;t=1`, "spare"}
	h := http.Header{"Ratelimit-Policy": policies[:1], "Ratelimit": standings[:1]}
	o.SetFields(h)
	o.Settle(http.StatusOK)
	if len(h["Ratelimit-Policy"]) != 2 || len(h["Ratelimit"]) != 2 {
		t.Errorf("fields: got %q, want a line of each layer", h)
	}
	if policies[1] != "spare" || standings[1] != "spare" {
		t.Errorf("the other layer's slices: got %q and %q, want their second element untouched", policies, standings)
	}
}

func TestNoTwoAnswersShareValues(t *testing.T) {
	m := mustNew(
		t,
		httplimit.Config{Rules: []httplimit.Rule{{Name: "ip", Key: httplimit.ClientIP(), Limit: limiter.PerDay(5)}}},
	)
	first, second := serve(m, "192.0.2.1:1"), serve(m, "192.0.2.2:1")
	first.Header()["Ratelimit-Policy"][0] = "scribbled over"
	first.Header()["Ratelimit-Policy"] = append(first.Header()["Ratelimit-Policy"], "and appended to")
	if got, want := second.Header().Get("Ratelimit-Policy"), `"ip";q=5;w=86400`; got != want {
		t.Errorf("the second answer's policy: got %q, want %q", got, want)
	}
	if got := first.Header().Get("Ratelimit"); strings.Contains(got, "appended") {
		t.Errorf("appending to one field wrote into another: %q", got)
	}
}

func TestOlderStylesTellNothingOfAPrivateRefusal(t *testing.T) {
	m := mustNew(
		t,
		httplimit.Config{Headers: httplimit.RateLimitDraft06 | httplimit.XRateLimitDelta, Rules: []httplimit.Rule{
			{Name: "secret", Key: httplimit.ClientIP(), Limit: limiter.PerDay(1), Private: true},
			{Name: "open", Key: httplimit.ClientIP(), Limit: limiter.PerDay(100)},
		}},
	)
	serve(m, "192.0.2.7:1")
	w := serve(m, "192.0.2.7:1")
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" {
		t.Fatalf("got %d %v, want 429 with Retry-After", w.Code, w.Header())
	}
	for name := range w.Header() {
		if strings.Contains(name, "Ratelimit") {
			t.Errorf("%s: %q, want no word of a quota that is not the one used up", name, w.Header()[name])
		}
	}
}
