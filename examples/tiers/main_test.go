package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/httplimit/httplimit/examples/internal/send"
)

func newTestHandler(t *testing.T) http.Handler {
	t.Helper()
	h, err := newHandler(newTenants(map[string]tenant{
		"f": {"acme", free}, "f2": {"acme", free}, "p": {"globex", pro}, "u": {"initech", unlimited}, "?": {"odd", "gratis"},
	}))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func do(h http.Handler, method, path, key string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	r.Header.Set("Authorization", "Bearer "+key)
	return send.To(h, r)
}

// get sends n requests, all of which have to pass, and returns the last answer's line of the rule.
func get(t *testing.T, h http.Handler, key string, n int) (line string) {
	t.Helper()
	for i := range n {
		w := do(h, http.MethodGet, "/", key)
		if w.Code != http.StatusOK {
			t.Fatalf("key %s, request %d: got %d, want 200", key, i+1, w.Code)
		}
		line = ""
		if lines := w.Header()["Ratelimit"]; len(lines) == 2 { // the first is that of the address
			line = lines[1]
		}
	}
	return line
}

func TestPlans(t *testing.T) {
	tests := map[string]struct {
		key   string
		limit int // 0: none
		first string
	}{
		"free":         {"f", 60, `"plan";r=59;t=1`},
		"pro":          {"p", 600, `"plan";r=599;t=1`},
		"unlimited":    {"u", 0, ""},
		"unknown plan": {"?", 60, `"plan";r=59;t=1`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newTestHandler(t)
				if got := get(t, h, tt.key, 1); got != tt.first {
					t.Errorf("RateLimit: got %s, want %s", got, tt.first)
				}
				if tt.limit == 0 {
					get(t, h, tt.key, 900)
					return
				}
				get(t, h, tt.key, tt.limit-1)
				w := do(h, http.MethodGet, "/", tt.key)
				if got := w.Header().Get("Retry-After"); w.Code != http.StatusTooManyRequests || got != "1" {
					t.Errorf("above the limit: got %d, Retry-After %q, want 429 and 1", w.Code, got)
				}
				time.Sleep(time.Minute / time.Duration(tt.limit)) // one request's share
				get(t, h, tt.key, 1)
			})
		})
	}
}

func TestChangeOfPlanKeepsWhatWasSpent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestHandler(t)
		get(t, h, "f", 29)
		// The change itself is the thirtieth request of the free plan.
		if w := do(h, http.MethodPut, "/plan/pro", "f"); w.Code != http.StatusNoContent {
			t.Fatalf("PUT /plan/pro: got %d, want 204", w.Code)
		}
		if got, want := get(t, h, "f", 1), `"plan";r=569;t=4`; got != want {
			t.Errorf("31 of 600: got %s, want %s", got, want)
		}
		get(t, h, "f", 29)
		do(h, http.MethodPut, "/plan/free", "f") // the 61st
		if w := do(h, http.MethodGet, "/", "f"); w.Code != http.StatusTooManyRequests {
			t.Errorf("61 of 60: got %d, want 429", w.Code)
		}
	})
}

func TestTenantsAreCountedByName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestHandler(t)
		get(t, h, "f", 60)
		if w := do(h, http.MethodGet, "/", "f2"); w.Code != http.StatusTooManyRequests {
			t.Errorf("another key of the tenant: got %d, want 429", w.Code)
		}
		get(t, h, "p", 1)
	})
}

func TestStrangersAreLimitedByAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestHandler(t)
		for i := range 1000 {
			if w := do(h, http.MethodGet, "/", "guess"); w.Code != http.StatusUnauthorized ||
				w.Header().Get("WWW-Authenticate") == "" {
				t.Fatalf("guess %d: got %d and fields %v, want 401 and WWW-Authenticate", i+1, w.Code, w.Header())
			}
		}
		if w := do(h, http.MethodGet, "/", "guess"); w.Code != http.StatusTooManyRequests {
			t.Errorf("one more: got %d, want 429", w.Code)
		}
	})
}

func TestUnknownPlanIsNotTaken(t *testing.T) {
	h := newTestHandler(t)
	if w := do(h, http.MethodPut, "/plan/gratis", "f"); w.Code != http.StatusNotFound {
		t.Errorf("got %d, want 404", w.Code)
	}
}

func TestQuotaTellsTheTenantsOwnPlan(t *testing.T) {
	for key, want := range map[string]string{
		"f": `[{"rule":"plan","limit":"60/m token-bucket","cost":1,"source":"store","allowed":true,"remaining":57,` +
			`"retryAfter":0,"resetAfter":3000}]`,
		"p": `[{"rule":"plan","limit":"600/m token-bucket","cost":1,"source":"store","allowed":true,"remaining":597,` +
			`"retryAfter":0,"resetAfter":300}]`,
		"u": `[]`,
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newTestHandler(t)
			get(t, h, key, 3)
			for range 3 { // to look costs nothing
				w := do(h, http.MethodGet, "/me/quota", key)
				if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusOK || got != want {
					t.Errorf("key %s:\n got %d %s\nwant 200 %s", key, w.Code, got, want)
				}
			}
		})
	}
}
