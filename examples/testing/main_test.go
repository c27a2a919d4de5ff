package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

func TestFourthSignUpWaitsForAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestHandler(t, nil) // made in here, a store in memory has the test's clock
		for range 3 {
			signUpIs(t, h, http.StatusCreated)
		}
		refusal := signUpIs(t, h, http.StatusTooManyRequests)
		wait, err := time.ParseDuration(refusal.Header().Get("Retry-After") + "s")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(wait) // takes no time
		signUpIs(t, h, http.StatusCreated)
	})
}

func TestRefused(t *testing.T) {
	h := newTestHandler(t, answer{Decision: limiter.Decision{RetryAfter: 30 * time.Second}})
	if got := signUpIs(t, h, http.StatusTooManyRequests).Header().Get("Retry-After"); got != "30" {
		t.Errorf("Retry-After: got %q, want 30", got)
	}
}

func TestStoreIsDown(t *testing.T) {
	signUpIs(t, newTestHandler(t, answer{err: errors.New("no route to Redis")}), http.StatusServiceUnavailable)
}

// answer is a store that answers every charge alike: the zero answer refuses.
type answer struct {
	limiter.Decision
	err error
}

func (a answer) Take(_ context.Context, charges []limiter.Charge) (taken bool, err error) {
	for i := range charges {
		charges[i].Decision = a.Decision
	}
	return a.Allowed, a.err
}

func (answer) Reset(context.Context, []limiter.Charge) error { return nil }

func newTestHandler(t *testing.T, store limiter.Store) http.Handler {
	t.Helper()
	h, err := newHandler(store)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func signUpIs(t *testing.T, h http.Handler, want int) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/signup", nil))
	if w.Code != want {
		t.Errorf("a sign-up: got %d, want %d", w.Code, want)
	}
	return w
}

// What docs/testing.md shows is what runs here.
func TestDocumentShowsThisFile(t *testing.T) {
	here, err := os.ReadFile("main_test.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "# Testing an application that uses httplimit\n")
	if !found {
		t.Fatal("docs/testing.md has no such heading")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := strings.Split(section, "```go\n")[1:]
	if len(blocks) != 2 {
		t.Errorf("got %d blocks of Go, want 2", len(blocks))
	}
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "```")
		if !strings.Contains(withoutIndent(string(here)), withoutIndent(block)) {
			t.Errorf("this is not in main_test.go:\n%s", block)
		}
	}
}

func withoutIndent(code string) string { return strings.ReplaceAll(code, "\t", "") }
