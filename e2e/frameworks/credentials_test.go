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

// TestACredentialBehindAnother: authentication reads the first or the last of two lines, and the limiter does not know
// which. All such requests share one bucket, whatever stands in place of the credential: here every request comes from
// another address.
func TestACredentialBehindAnother(t *testing.T) {
	const requests, limit = 200, 5
	address := httplimit.Header("X-Address") // the addresses of a botnet
	for _, rule := range []struct {
		name string
		rule httplimit.Rule
	}{
		{"API key", httplimit.Rule{Key: httplimit.APIKey("X-API-Key"), NoKey: address}},
		{"API key, or else the address", httplimit.Rule{Key: httplimit.FirstOf(httplimit.APIKey("X-API-Key"), address)}},
		{"API key and tenant", httplimit.Rule{NoKey: address,
			Key: httplimit.Compose(httplimit.Header("X-Tenant"), httplimit.APIKey("X-API-Key"))}},
	} {
		rule.rule.Name, rule.rule.Limit = "key", limiter.PerHour(limit)
		t.Run(rule.name, func(t *testing.T) {
			for _, f := range frameworks() {
				t.Run(f.name, func(t *testing.T) {
					var handled atomic.Int64
					at := listen(t, "tcp4")
					f.serve(t, at, app{left: func() {}, around: []*httplimit.Middleware{newMiddleware(t, rule.rule)},
						item: func(context.Context, string) reply {
							handled.Add(1)
							return reply{status: http.StatusOK}
						}})
					client := &rawClient{t: t, at: at.Addr()}
					for i := range requests {
						keys := []string{"X-API-Key: good", fmt.Sprint("X-API-Key: junk", i)}
						if i%2 == 1 {
							keys[0], keys[1] = keys[1], "x-api-key: good"
						}
						client.send("GET /items/7", keys[0], keys[1], "X-Tenant: acme", fmt.Sprint("X-Address: 192.0.2.", i))
					}
					if got := handled.Load(); got != limit {
						t.Errorf("%d of %d requests with the key and another one passed, want %d", got, requests, limit)
					}
					if got := client.send("GET /items/7", "X-API-Key: good", "X-API-Key: good", "X-Tenant: acme"); got != 200 {
						t.Errorf("the owner of the key, whose proxy repeats it, got %d, want 200", got)
					}
				})
			}
		})
	}
}

// TestCookiesOfOneName: the session that counts is the one that handlers read.
func TestCookiesOfOneName(t *testing.T) {
	const requests, limit = 20, 5
	for _, f := range frameworks() {
		t.Run(f.name, func(t *testing.T) {
			at := listen(t, "tcp4")
			rule := httplimit.Rule{Name: "session", Key: httplimit.Cookie("sid"), Limit: limiter.PerHour(limit)}
			f.serve(t, at, app{left: func() {}, around: []*httplimit.Middleware{newMiddleware(t, rule)}, item: byID})
			client := &rawClient{t: t, at: at.Addr()}
			passed := 0
			for i := range requests {
				lines := []string{fmt.Sprintf("Cookie: sid=good; sid=junk%d", i)}
				if i%2 == 1 {
					lines = []string{"Cookie: a=b; sid=good", fmt.Sprintf("Cookie: sid=junk%d", i)}
				}
				if client.send(append([]string{"GET /items/7"}, lines...)...) == http.StatusOK {
					passed++
				}
			}
			if passed != limit {
				t.Errorf("%d of %d requests with the session and another one behind it passed, want %d", passed, requests, limit)
			}
		})
	}
}
