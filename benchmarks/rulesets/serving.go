package rulesets

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// Field is the header field that identifies clients.
const Field = "X-Client"

// Bare is the handler without any middleware.
var Bare http.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })

// Handler is Bare behind middleware with such rules. A store that cannot decide shows as a status that nobody expects.
func Handler(store limiter.Store, rules []httplimit.Rule) (http.Handler, error) {
	for i := range rules {
		r := &rules[i]
		r.Name, r.Key, r.Failure = fmt.Sprint("rule", i), httplimit.Header(Field), httplimit.FailClosed
	}
	m, err := httplimit.New(httplimit.Config{Store: store, Rules: rules, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	return m.Handler(Bare), nil
}

// Requesting sends one request after the other, of clients by their names, and returns whether they were allowed. It
// belongs to one goroutine.
func Requesting(h http.Handler) func(client string) (allowed bool, err error) {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	name := []string{""}
	r.Header[Field] = name
	w := &answer{header: make(http.Header)}
	return func(client string) (bool, error) {
		name[0] = client
		clear(w.header)
		h.ServeHTTP(w, r)
		switch w.status {
		case http.StatusOK:
			return true, nil
		case http.StatusTooManyRequests:
			return false, nil
		}
		return false, fmt.Errorf("the status is %d, want 200 or 429", w.status)
	}
}

// answer is a ResponseWriter that keeps the status only.
type answer struct {
	header http.Header
	status int
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) Write(b []byte) (int, error) { return len(b), nil }
func (a *answer) WriteHeader(status int)      { a.status = status }
