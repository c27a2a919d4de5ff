package layers_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/go-chi/chi/v5/middleware"
)

// timedOut is what became of a request that a layer has ended.
type timedOut struct {
	status int
	body   string
	fields bool
	asked  []int // the statuses that CountStatus was asked about
	left   int64 // of 100, if no status counts
}

// TestTimeouts: http.TimeoutHandler answers itself, so the fields are on its 503, and the rule sees it, with the
// limiter outside only. A time-out that ends the context lets the answer pass through the limiter in both orders. With
// the limiter inside, a handler that writes nothing counts: what its client got is not known.
func TestTimeouts(t *testing.T) {
	const patience = 100 * time.Millisecond
	layers := map[string]layer{
		"TimeoutHandler": func(next http.Handler) http.Handler { return http.TimeoutHandler(next, patience, "too late") },
		"chi's Timeout":  middleware.Timeout(patience),
	}
	handlers := map[string]http.HandlerFunc{
		"writes nothing": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"writes late": func(w http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			w.WriteHeader(http.StatusTeapot)
		},
	}
	for _, tt := range []struct {
		layer, handler  string
		outside, inside timedOut // where the limiter is
	}{
		{
			"TimeoutHandler", "writes nothing",
			timedOut{503, "too late", true, []int{503}, 100}, timedOut{503, "too late", false, nil, 99},
		},
		{ // what it writes, nobody sees
			"TimeoutHandler", "writes late",
			timedOut{503, "too late", true, []int{503}, 100}, timedOut{503, "too late", false, []int{418}, 100},
		},
		{
			"chi's Timeout", "writes nothing",
			timedOut{504, "", true, []int{504}, 100}, timedOut{504, "", true, nil, 99},
		},
		{
			"chi's Timeout", "writes late",
			timedOut{418, "", true, []int{418}, 100}, timedOut{418, "", true, []int{418}, 100},
		},
	} {
		t.Run(tt.layer+", and a handler that "+tt.handler, func(t *testing.T) {
			forOrders(t, func(t *testing.T, inside bool, around order) {
				var got timedOut
				rule := perDay(100)
				rule.CountStatus = func(status int) bool { got.asked = append(got.asked, status); return false }
				m := newLimiter(t, rule)
				over := make(chan struct{}) // the limiter is done, which may be after the answer
				limit := func(next http.Handler) http.Handler {
					limited := m.Handler(next)
					return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						defer close(over)
						limited.ServeHTTP(w, r)
					})
				}
				answer, body := get(t, serve(t, around(limit, layers[tt.layer], handlers[tt.handler])))
				<-over
				got.status, got.body, got.fields = answer.StatusCode, body, answer.Header.Get("RateLimit") != ""
				got.left = left(t, m)
				want := tt.outside
				if inside {
					want = tt.inside
				}
				if got.status != want.status || got.body != want.body || got.fields != want.fields || got.left != want.left ||
					!slices.Equal(got.asked, want.asked) {
					t.Errorf("got %+v, want %+v", got, want)
				}
			})
		})
	}
}
