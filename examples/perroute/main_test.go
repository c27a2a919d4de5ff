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
	h, err := newHandler()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func get(h http.Handler, path, team string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	if team != "" {
		r.Header.Set("X-Team", team)
	}
	return send.To(h, r)
}

func TestSearchesAreLimitedByTeam(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestHandler(t)
		for i := range 3 {
			if w := get(h, "/search?q=go", "red"); w.Code != http.StatusOK {
				t.Fatalf("search %d: got %d, want 200", i+1, w.Code)
			}
		}
		w := get(h, "/search?q=go", "red")
		if w.Code != http.StatusTooManyRequests || !strings.Contains(w.Body.String(), `"violated-policies":["search"]`) {
			t.Errorf("the fourth: got %d %s, want 429 by the rule search", w.Code, w.Body)
		}
		for what, w := range map[string]*httptest.ResponseRecorder{
			"another team": get(h, "/search?q=go", "blue"),
			"no team":      get(h, "/search?q=go", ""),
			"an item":      get(h, "/items/1", "red"),
		} {
			if w.Code != http.StatusOK {
				t.Errorf("%s: got %d, want 200", what, w.Code)
			}
		}
	})
}

func TestEverythingIsLimitedByAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestHandler(t)
		for range 20 {
			get(h, "/items/1", "")
		}
		w := get(h, "/search?q=go", "red")
		if w.Code != http.StatusTooManyRequests || !strings.Contains(w.Body.String(), `"violated-policies":["client"]`) {
			t.Errorf("the 21st request: got %d %s, want 429 by the rule client", w.Code, w.Body)
		}
		time.Sleep(20 * time.Second) // both windows are over
		if w := get(h, "/search?q=go", "red"); w.Code != http.StatusOK {
			t.Errorf("later: got %d, want 200", w.Code)
		}
	})
}
