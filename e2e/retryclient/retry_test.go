// Package retryclient_test checks the promise of Retry-After with a client library of others: a client that waits as
// long as Retry-After says is admitted with its next request.
package retryclient_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/e2e/servers"
	"github.com/httplimit/httplimit/limiter"
)

func TestMain(m *testing.M) { servers.Main(m) }

func TestRetryAfterIsLongEnough(t *testing.T) {
	const requests, window = 2, 2 * time.Second
	for name, protect := range map[string]func(http.Handler) http.Handler{
		"PerIP":       httplimit.PerIP(requests, window),
		"SlidingLog":  protection(t, limiter.Limit{Requests: requests, Window: window, Algorithm: limiter.SlidingLog}),
		"FixedWindow": protection(t, limiter.Limit{Requests: requests, Window: window, Algorithm: limiter.FixedWindow}),
		"TokenBucket": protection(t, limiter.Limit{Requests: requests, Window: window, Algorithm: limiter.TokenBucket}),
		"StrictWindow": protection(t,
			limiter.Limit{Requests: requests, Window: window, Algorithm: limiter.StrictWindow}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen statusLog
			server := httptest.NewServer(seen.record(protect(http.HandlerFunc(answer))))
			defer server.Close()

			client := retryablehttp.NewClient()
			client.Logger = nil
			client.RetryMax = 1
			client.RetryWaitMin, client.RetryWaitMax = 0, 0 // it waits only because the server says so

			statuses := untilRefused(t, client, server.URL, &seen)
			if want := []int{http.StatusTooManyRequests, http.StatusOK}; !slices.Equal(statuses, want) {
				t.Errorf("the client's requests were answered with %v, want %v", statuses, want)
			}
		})
	}
}

// untilRefused sends requests until the server has refused one, and returns how it answered that one and its retry.
func untilRefused(t *testing.T, client *retryablehttp.Client, url string, seen *statusLog) []int {
	t.Helper()
	for range 20 { // the third is refused, unless the machine stalls for a whole window
		response, err := client.Get(url)
		if err != nil {
			t.Fatalf("after the answers %v: %v", seen.take(), err)
		}
		response.Body.Close()
		if statuses := seen.take(); !slices.Equal(statuses, []int{http.StatusOK}) {
			return statuses
		}
	}
	t.Fatal("no request was refused")
	return nil
}

func protection(t *testing.T, limit limiter.Limit) func(http.Handler) http.Handler {
	t.Helper()
	m, err := httplimit.New(httplimit.Config{Rules: []httplimit.Rule{{Name: "ip", Key: httplimit.ClientIP(),
		Limit: limit}}})
	if err != nil {
		t.Fatal(err)
	}
	return m.Handler
}

func answer(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }

// statusLog records the statuses of a server's answers in their order.
type statusLog struct {
	mu       sync.Mutex
	statuses []int
}

func (l *statusLog) record(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&writer{w, l}, r)
	})
}

// take returns the statuses since it was last called.
func (l *statusLog) take() []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	statuses := l.statuses
	l.statuses = nil
	return statuses
}

type writer struct {
	http.ResponseWriter
	log *statusLog
}

func (w *writer) WriteHeader(status int) {
	w.log.mu.Lock()
	w.log.statuses = append(w.log.statuses, status)
	w.log.mu.Unlock()
	w.ResponseWriter.WriteHeader(status)
}
