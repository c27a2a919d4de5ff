package httplimit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
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
)

func TestFifthPassesSixthIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{ip(limiter.Per(5, 10*time.Second))}})
		for i := range 5 {
			w := serve(m, "192.0.2.7:1")
			if w.Code != http.StatusOK || w.Body.String() != "ok" {
				t.Fatalf("request %d: got %d %q, want 200", i+1, w.Code, w.Body)
			}
			if got, want := w.Header().Get("RateLimit-Policy"), `"ip";q=5;w=10`; got != want {
				t.Errorf("request %d: RateLimit-Policy: got %s, want %s", i+1, got, want)
			}
			if got, want := w.Header().Get("RateLimit"), fmt.Sprintf(`"ip";r=%d;t=`, 4-i); !strings.HasPrefix(got, want) {
				t.Errorf("request %d: RateLimit: got %s, want %s...", i+1, got, want)
			}
		}
		w := serve(m, "192.0.2.7:2")
		checkRefusal(t, w, "ip")
		if other := serve(m, "192.0.2.8:1"); other.Code != http.StatusOK {
			t.Errorf("another client: got %d, want 200", other.Code)
		}

		// Retry-After holds: a client that waits exactly that long gets in.
		wait, err := time.ParseDuration(w.Header().Get("Retry-After") + "s")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(wait)
		if w := serve(m, "192.0.2.7:3"); w.Code != http.StatusOK {
			t.Errorf("after waiting %v: got %d, want 200", wait, w.Code)
		}
	})
}

func TestRulesAreDecidedTogether(t *testing.T) {
	rules := []httplimit.Rule{
		{Name: "burst", Key: httplimit.ClientIP(), Limit: limiter.PerMinute(2)},
		{Name: "daily", Key: httplimit.ClientIP(), Limit: limiter.PerDay(100)},
	}
	m := mustNew(t, httplimit.Config{Rules: rules})
	for range 2 {
		serve(m, "192.0.2.7:1")
	}
	for range 5 {
		w := serve(m, "192.0.2.7:1")
		checkRefusal(t, w, "burst")
		if got := w.Header().Get("RateLimit"); strings.Contains(got, "daily") {
			t.Errorf("RateLimit of the refusal: got %s, want only what was violated", got)
		}
	}
	v, err := m.Peek(context.Background(), "daily", "192.0.2.7")
	if err != nil || v.Remaining != 98 {
		t.Errorf("daily after two requests passed and five were refused: got %+v, %v, want 98 remaining", v, err)
	}
}

func TestWhatAppliesToARequest(t *testing.T) {
	post := func(r *http.Request) bool { return r.Method == http.MethodPost }
	skip := httplimit.KeyFunc(func(*http.Request) (string, error) { return "", httplimit.ErrSkip })
	tests := map[string]struct {
		rule httplimit.Rule
		req  func() *http.Request
		want int // charges
	}{
		"no condition": {req: get, want: 1},
		"a condition that holds": {
			rule: httplimit.Rule{When: post},
			req:  func() *http.Request { return httptest.NewRequest(http.MethodPost, "/", nil) },
			want: 1,
		},
		"a condition that does not": {rule: httplimit.Rule{When: post}, req: get, want: 0},
		"a key that says skip":      {rule: httplimit.Rule{Key: skip}, req: get, want: 0},
		"a limit that says skip": {
			rule: httplimit.Rule{
				LimitFunc: func(*http.Request) (limiter.Limit, error) { return limiter.Limit{}, httplimit.ErrSkip },
			},
			req:  get,
			want: 0,
		},
		"a cost that says skip": {
			rule: httplimit.Rule{
				Cost: func(*http.Request) (int64, error) { return 0, fmt.Errorf("free: %w", httplimit.ErrSkip) },
			},
			req:  get,
			want: 0,
		},
		"a preflight": {req: preflight, want: 1},
		"OPTIONS without Origin": {
			req:  func() *http.Request { return httptest.NewRequest(http.MethodOptions, "/", nil) },
			want: 1,
		},
		"OPTIONS with an empty method": {
			req:  func() *http.Request { r := preflight(); r.Header.Set("Access-Control-Request-Method", ""); return r },
			want: 1,
		},
		"HEAD counts like GET": {
			req:  func() *http.Request { return httptest.NewRequest(http.MethodHead, "/", nil) },
			want: 1,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			store := &scripted{}
			rule := tt.rule
			rule.Name, rule.Limit = "r", limiter.PerMinute(5)
			if rule.Key == nil {
				rule.Key = httplimit.Everyone()
			}
			m := mustNew(t, httplimit.Config{Store: store, Rules: []httplimit.Rule{rule}})
			w := serveRequest(m, tt.req())
			if got := len(store.charges()); got != tt.want || w.Code != http.StatusOK {
				t.Errorf("got %d charges and status %d, want %d and 200", got, w.Code, tt.want)
			}
			if got := len(w.Header()["Ratelimit"]); got != tt.want {
				t.Errorf("got %d RateLimit fields, want %d", got, tt.want)
			}
		})
	}
}

func TestChargeIsWhatTheRuleSays(t *testing.T) {
	pro := limiter.Limit{Requests: 600, Window: time.Minute, Algorithm: limiter.TokenBucket}
	store := &scripted{}
	m := mustNew(t, httplimit.Config{Namespace: "shop", Store: store, Rules: []httplimit.Rule{
		{Name: "plain", Key: httplimit.Everyone(), Limit: limiter.PerMinute(5)},
		{Name: "plan", Key: httplimit.Everyone(), Limit: limiter.PerMinute(5),
			LimitFunc: func(*http.Request) (limiter.Limit, error) { return pro, nil },
			Cost:      func(r *http.Request) (int64, error) { return 7, nil }},
		{Name: "shadow", Key: httplimit.Everyone(), Limit: limiter.PerMinute(5), Shadow: true},
		{Name: "odd", Key: httplimit.Everyone(), Limit: limiter.PerMinute(5),
			LimitFunc: func(*http.Request) (limiter.Limit, error) { return limiter.PerMinute(-1), nil },
			Cost:      func(r *http.Request) (int64, error) { return -3, nil }},
		{Name: "suspended", Key: httplimit.Everyone(), Limit: limiter.PerMinute(5), Shadow: true,
			LimitFunc: func(*http.Request) (limiter.Limit, error) { return limiter.PerHour(0), nil }},
	}})
	serveRequest(m, get())
	want := []limiter.Charge{
		{Scope: "shop/plain", Limit: limiter.PerMinute(5), Cost: 1},
		{Scope: "shop/plan", Limit: pro, Cost: 7},
		{Scope: "shop/shadow", Limit: limiter.PerMinute(5), Cost: 1, Mode: limiter.Shadow},
		{Scope: "shop/odd", Limit: limiter.PerMinute(5), Cost: 1},
		{Scope: "shop/suspended", Limit: limiter.PerHour(0), Cost: 1, Mode: limiter.Shadow},
	}
	got := store.charges()
	for i := range got {
		got[i].Key = ""
	}
	if !slices.Equal(got, want) {
		t.Errorf("charges:\n got %+v\nwant %+v", got, want)
	}
}

func TestShadowNeverRefusesAndPrivateIsNeverNamed(t *testing.T) {
	m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{
		{Name: "shadow", Key: httplimit.ClientIP(), Limit: limiter.PerDay(1), Shadow: true},
		{Name: "secret", Key: httplimit.ClientIP(), Limit: limiter.PerDay(3), Private: true},
		{Name: "open", Key: httplimit.ClientIP(), Limit: limiter.PerDay(9)},
	}})
	var w *httptest.ResponseRecorder
	for i := range 3 {
		if w = serve(m, "192.0.2.7:1"); w.Code != http.StatusOK {
			t.Fatalf("request %d: got %d, want 200", i+1, w.Code)
		}
	}
	if got, want := w.Header().Get("RateLimit-Policy"), `"open";q=9;w=86400`; got != want {
		t.Errorf("RateLimit-Policy: got %s, want %s", got, want)
	}
	w = serve(m, "192.0.2.7:1")
	checkRefusal(t, w)
	for name, values := range w.Header() {
		if text := strings.Join(values, " "); strings.Contains(text, "secret") || strings.Contains(text, "shadow") {
			t.Errorf("%s: %s names a rule that it must not", name, text)
		}
	}
}

func TestShadowRefusalsAreLoggedNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		m := mustNew(t, httplimit.Config{Logger: slog.New(slog.NewTextHandler(&log, nil)), Rules: []httplimit.Rule{
			{Name: "shadow", Key: httplimit.ClientIP(), Limit: limiter.PerDay(1), Shadow: true},
		}})
		for range 10 {
			serve(m, "192.0.2.7:1")
		}
		if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "rule=shadow requests=1") {
			t.Errorf("after 9 would-be refusals: log %q, want one line about the first", got)
		}
		time.Sleep(time.Minute)
		serve(m, "192.0.2.7:1")
		if got := log.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, "requests=9") {
			t.Errorf("a minute later: log %q, want a second line about the 9 since", got)
		}
	})
}

func TestFaultyFunctionsAreLoggedOncePerCauseAndNeverShown(t *testing.T) {
	var log bytes.Buffer
	var mu sync.Mutex
	failures := 0
	m := mustNew(t, httplimit.Config{Logger: slog.New(slog.NewTextHandler(&log, nil)), Rules: []httplimit.Rule{
		{Name: "r", Limit: limiter.PerDay(100), Key: httplimit.KeyFunc(func(*http.Request) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			failures++
			return "", errors.New("session store at 10.0.0.9 is away")
		}), Cost: func(*http.Request) (int64, error) { return 0, errors.New("no cost") },
			LimitFunc: func(*http.Request) (limiter.Limit, error) { return limiter.Limit{}, errors.New("no plan") }},
	}})
	for range 5 {
		w := serve(m, "192.0.2.7:1")
		if text := fmt.Sprint(w.Header(), w.Body); w.Code != http.StatusOK || strings.Contains(text, "10.0.0.9") {
			t.Fatalf("got %d %s, want 200 and no internal text", w.Code, text)
		}
	}
	if failures != 5 {
		t.Errorf("the key was asked %d times, want 5", failures)
	}
	for _, cause := range []string{"session store", "no cost", "no plan"} {
		if got := strings.Count(log.String(), cause); got != 1 {
			t.Errorf("%q is in the log %d times, want once:\n%s", cause, got, log.String())
		}
	}
}

func TestClientThatHasLeftIsServedAndCounted(t *testing.T) {
	m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{ip(limiter.PerDay(1))}})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for i, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
		if w := serveRequest(m, get().WithContext(ctx)); w.Code != want || w.Body.Len() == 0 ||
			w.Header()["Ratelimit"] == nil {
			t.Errorf("request %d: got %d %q with %v, want %d, a body and the fields", i+1, w.Code, w.Body, w.Header(), want)
		}
	}
}

func TestClientThatLeavesDuringTheDecisionIsServedAndCounts(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	store := &scripted{answer: func(*limiter.Charge) { cancel() }}
	m := mustNew(t, httplimit.Config{Store: store, Rules: []httplimit.Rule{{
		Name: "ip", Key: httplimit.ClientIP(), Limit: limiter.PerDay(5), CountStatus: func(int) bool { return false },
	}}})
	served := false
	m.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served = true })).
		ServeHTTP(httptest.NewRecorder(), get().WithContext(ctx))
	if !served {
		t.Error("the handler did not run")
	}
	if got := len(store.charges()); got != 1 {
		t.Errorf("the store was asked %d times, want once: hanging up gives nothing back", got)
	}
}

func TestOnDeny(t *testing.T) {
	m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{ip(limiter.PerDay(1))},
		OnDeny: func(w http.ResponseWriter, r *http.Request, d httplimit.Denial) {
			w.WriteHeader(http.StatusForbidden)
			v, _ := d.Rule()
			fmt.Fprintf(w, "%d %s %v", d.Status, v.Rule, d.RetryAfter > 0)
		}})
	serve(m, "192.0.2.7:1")
	w := serve(m, "192.0.2.7:1")
	if got, want := w.Body.String(), "429 ip true"; got != want || w.Code != http.StatusForbidden {
		t.Errorf("got %d %q, want 403 %q", w.Code, got, want)
	}
	if w.Header().Get("Retry-After") == "" || w.Header().Get("RateLimit") == "" {
		t.Errorf("fields of the refusal: got %v, want Retry-After and RateLimit set before OnDeny", w.Header())
	}
}

func TestRefusalsThatNeedCare(t *testing.T) {
	body := func(n int64, proto int) *http.Request {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("x"))
		r.ContentLength, r.ProtoMajor = n, proto
		return r
	}
	tests := map[string]struct {
		req       *http.Request
		body      bool
		wantClose string
	}{
		"GET":                             {get(), true, ""},
		"HEAD has no body":                {httptest.NewRequest(http.MethodHead, "/", nil), false, ""},
		"a small body is read":            {body(64<<10, 1), true, ""},
		"a large body is not waited for":  {body(64<<10+1, 1), true, "close"},
		"nor one of unknown length":       {body(-1, 1), true, "close"},
		"HTTP/2 has no Connection header": {body(-1, 2), true, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := mustNew(
				t,
				httplimit.Config{Rules: []httplimit.Rule{{Name: "all", Key: httplimit.Everyone(), Limit: limiter.PerDay(1)}}},
			)
			serve(m, "192.0.2.7:1")
			w := serveRequest(m, tt.req)
			if w.Code != http.StatusTooManyRequests || (w.Body.Len() > 0) != tt.body {
				t.Errorf("got %d and a body of %d bytes, want 429 and a body: %v", w.Code, w.Body.Len(), tt.body)
			}
			if got := w.Header().Get("Connection"); got != tt.wantClose {
				t.Errorf("Connection: got %q, want %q", got, tt.wantClose)
			}
		})
	}
}

func TestPanicOfAKeyPassesThroughAndLocksNothing(t *testing.T) {
	panics := true
	m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{
		{Name: "r", Limit: limiter.PerDay(5), Key: httplimit.KeyFunc(func(*http.Request) (string, error) {
			if panics {
				panic("key")
			}
			return "k", nil
		})},
	}})
	func() {
		defer func() {
			if got := recover(); got != "key" {
				t.Errorf("recovered %v, want the panic of the key", got)
			}
		}()
		serve(m, "192.0.2.7:1")
	}()
	panics = false
	if w := serve(m, "192.0.2.7:1"); w.Code != http.StatusOK {
		t.Errorf("the next request: got %d, want 200", w.Code)
	}
}

func TestCheckDecidesWithoutWriting(t *testing.T) {
	m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{ip(limiter.PerDay(1))}})
	first := m.Check(httplimit.HTTPRequest(get()))
	if _, denied := first.Denied(); denied {
		t.Error("the first request is denied")
	}
	got := map[string]string{}
	for name, value := range first.Fields() {
		got[name] = value
	}
	if want := `"ip";q=1;w=86400`; got["Ratelimit-Policy"] != want || len(got) != 2 {
		t.Errorf("fields: got %v, want RateLimit and RateLimit-Policy %s", got, want)
	}
	first.Settle(http.StatusOK)

	second := m.Check(httplimit.HTTPRequest(get()))
	denial, denied := second.Denied()
	if !denied || denial.Status != http.StatusTooManyRequests || denial.RetryAfter <= 0 {
		t.Fatalf("the second request: got %+v, %v, want a denial", denial, denied)
	}
	second.Settle(denial.Status)
	m.Check(httplimit.HTTPRequest(get())).Settle(0) // reuses the Outcome
	if len(denial.Rules) != 1 || denial.Rules[0].Rule != "ip" || denial.Rules[0].Limit != limiter.PerDay(1) {
		t.Errorf("a kept denial: got %+v, want it to outlive Settle", denial)
	}
	for range second.Fields() {
		t.Error("a settled Outcome still has fields")
	}
}

func TestConcurrentRequestsOfOneClient(t *testing.T) {
	m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{ip(limiter.PerDay(100))}})
	var wg sync.WaitGroup
	codes := make(chan int, 64*10)
	for range 64 {
		wg.Go(func() {
			for range 10 {
				codes <- serve(m, "192.0.2.7:1").Code
			}
		})
	}
	wg.Wait()
	close(codes)
	count := map[int]int{}
	for code := range codes {
		count[code]++
	}
	if count[200] != 100 || count[429] != 540 {
		t.Errorf("got %v, want 100 times 200 and 540 times 429", count)
	}
}

// TestRealServer sends requests over a socket: 1xx answers, flushes, hijacked connections and early ends.
func TestRealServer(t *testing.T) {
	m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{ip(limiter.PerDay(1000))}})
	mux := http.NewServeMux()
	mux.HandleFunc("/early", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</style.css>")
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusCreated)
	})
	mux.HandleFunc("/flush", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "a")
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Errorf("Flush: %v", err)
		}
		_, _ = io.WriteString(w, "b")
	})
	mux.HandleFunc("/hijack", func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Errorf("Hijack: %v", err)
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
		_ = conn.Close()
	})
	mux.HandleFunc("/abort", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	server := httptest.NewServer(m.Handler(mux))
	defer server.Close()

	for path, want := range map[string]int{"/early": 201, "/flush": 200, "/hijack": 204, "/abort": 0} {
		resp, err := server.Client().Get(server.URL + path)
		if want == 0 {
			if err == nil {
				t.Errorf("%s: got %d, want an aborted connection", path, resp.StatusCode)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: got %d, want %d", path, resp.StatusCode, want)
		}
		if path != "/hijack" && resp.Header.Get("RateLimit") == "" {
			t.Errorf("%s: no RateLimit field", path)
		}
	}
}

func TestACostThatCanNeverPassIsTold(t *testing.T) {
	var log bytes.Buffer
	m := mustNew(t, httplimit.Config{Logger: slog.New(slog.NewTextHandler(&log, nil)), Rules: []httplimit.Rule{
		{
			Name:  "export",
			Key:   httplimit.Everyone(),
			Limit: limiter.PerDay(5),
			Cost:  func(*http.Request) (int64, error) { return 10, nil },
		},
	}})
	for range 3 {
		if w := serve(m, "192.0.2.7:1"); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "" {
			t.Errorf("got %d with Retry-After %q, want 429 without", w.Code, w.Header().Get("Retry-After"))
		}
	}
	if got := log.String(); strings.Count(got, "can never pass") != 1 || !strings.Contains(got, "rule=export") {
		t.Errorf("log: got %q, want one line", got)
	}
}

func TestTimeOutOfOurOwnIsTheHandlersMatter(t *testing.T) {
	m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{ip(limiter.PerDay(5))}})
	ctx, cancel := context.WithDeadline(context.Background(), time.Unix(1, 0))
	defer cancel()
	if w := serveRequest(m, get().WithContext(ctx)); w.Code != http.StatusOK || w.Body.String() != "ok" {
		t.Errorf("got %d %q, want the handler's own answer", w.Code, w.Body)
	}
}
