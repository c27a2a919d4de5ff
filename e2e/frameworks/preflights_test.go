package frameworks_test

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// newMiddleware returns one that counts in memory and logs nothing.
func newMiddleware(t *testing.T, rules ...httplimit.Rule) *httplimit.Middleware {
	t.Helper()
	st := &stage{store: record(frozen(t))}
	return st.middleware(t, httplimit.Config{Rules: rules})
}

// TestGuessesByOptions: what looks like a CORS preflight reaches handlers as well, where nothing in front answers it.
// So it buys a client the limit once more, and no more than that.
func TestGuessesByOptions(t *testing.T) {
	const guesses, limit = 1000, 5
	for _, f := range frameworks() {
		t.Run(f.name, func(t *testing.T) {
			var handled atomic.Int64
			at := listen(t, "tcp4")
			f.serve(t, at, app{left: func() {},
				around: []*httplimit.Middleware{newMiddleware(t, byIP("ip", limiter.PerHour(limit)))},
				item: func(context.Context, string) reply {
					handled.Add(1)
					return reply{status: http.StatusUnauthorized}
				}})
			client := &rawClient{t: t, at: at.Addr()}
			for _, tt := range []struct {
				method string
				most   int64 // of all so far
			}{{http.MethodOptions, limit}, {http.MethodPost, 2 * limit}, {http.MethodOptions, 2 * limit}} {
				for i := range guesses {
					client.send(tt.method+" /items/7", "Origin: https://app.example", "Access-Control-Request-Method: POST",
						fmt.Sprintf("X-Password: %d", i), "Content-Length: 0")
				}
				if got := handled.Load(); got != tt.most {
					t.Errorf("after %d guesses by %s, %d reached the handler in all, want %d", guesses, tt.method, got, tt.most)
				}
			}
		})
	}
}
