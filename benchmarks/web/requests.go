package web

import (
	"net/http"
	"net/http/httptest"

	"github.com/httplimit/httplimit/benchmarks/workload"
)

// Clients is how many clients send requests, one after the other.
const Clients = 1024

// serve makes Sessions for anything that speaks net/http. Requests are made beforehand and shared: nothing measured
// here writes into one.
func serve(h http.Handler) func() Session {
	requests := make([]*http.Request, Clients)
	for i := range requests {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = workload.Address(i) + ":1234"
		r.Header.Set(Field, clientName(i))
		requests[i] = r
	}
	return func() Session {
		w := &answer{header: make(http.Header)}
		serve := func(client int) int {
			w.reset()
			h.ServeHTTP(w, requests[client])
			return w.status
		}
		return Session{serve, func() (http.Header, int) { return w.header, w.length }}
	}
}

func clientName(i int) string { return "client-" + workload.Address(i) }

// answer is a ResponseWriter that keeps nothing of an answer but its status, its header until the next request, and how
// long the body was: net/http makes a map for each request whether it is limited or not.
type answer struct {
	header http.Header
	status int
	length int
}

func (a *answer) reset() {
	clear(a.header)
	a.status, a.length = http.StatusOK, 0
}

func (a *answer) Header() http.Header    { return a.header }
func (a *answer) WriteHeader(status int) { a.status = status }

func (a *answer) Write(b []byte) (int, error) {
	a.length += len(b)
	return len(b), nil
}
