package console

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// site is a service with a page: everybody may look, and who has the header X-Operator may change things.
type site struct {
	*Console
	limits *httplimit.Middleware
	log    *strings.Builder
}

func newSite(t *testing.T, rules ...httplimit.Rule) *site {
	t.Helper()
	return newSiteOf(t, httplimit.Config{Namespace: "shop", Rules: rules})
}

func newSiteOf(t *testing.T, cfg httplimit.Config) *site {
	t.Helper()
	log := &strings.Builder{}
	c, err := New(Config{
		Viewer: func(*http.Request) bool { return true },
		Operator: func(r *http.Request) (string, bool) {
			name := r.Header.Get("X-Operator")
			return name, name != ""
		},
		Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Observer, cfg.Logger = c, slog.New(slog.NewTextHandler(io.Discard, nil))
	m, err := httplimit.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	c.Watch(m)
	return &site{c, m, log}
}

// request sends a client's request to the service.
func (s *site) request(address string, set ...func(*http.Request)) int {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RemoteAddr = address + ":1234"
	for _, f := range set {
		f(r)
	}
	w := httptest.NewRecorder()
	s.limits.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
	return w.Code
}

// get asks for a page, as an operator would.
func (s *site) get(path string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "http://ops.example/limits/"+path, nil)
	r.Header.Set("X-Operator", "alice")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// post sends a form as the page itself would.
func (s *site) post(path string, form url.Values, operator string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "http://ops.example/limits/"+path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("Origin", "http://ops.example")
	if operator != "" {
		r.Header.Set("X-Operator", operator)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func byAddress(name string, limit limiter.Limit) httplimit.Rule {
	return httplimit.Rule{Name: name, Key: httplimit.ClientIP(), Limit: limit}
}

// eventually waits until f is true.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !f(); {
		if time.Now().After(end) {
			t.Fatal("not in 20 s: ", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// mustContain checks that an answer is well and has these texts.
func mustContain(t *testing.T, w *httptest.ResponseRecorder, texts ...string) {
	t.Helper()
	if w.Code != http.StatusOK {
		t.Fatalf("got %d, want 200: %s", w.Code, w.Body)
	}
	for _, text := range texts {
		if !strings.Contains(w.Body.String(), text) {
			t.Errorf("got no %q in\n%s", text, w.Body)
		}
	}
}
