package httplimit_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// TestNoTokenLeaves looks at all that leaves the middleware, whatever becomes of the request: what the store is given,
// what is logged, what the client reads.
func TestNoTokenLeaves(t *testing.T) {
	const token = "sk-live-0123456789abcdef"
	basic := base64.StdEncoding.EncodeToString([]byte("alice:" + token))
	keys := map[string]httplimit.Key{
		"bearer":        httplimit.BearerToken(),
		"api key":       httplimit.APIKey("X-API-Key"),
		"cookie":        httplimit.Cookie("sid"),
		"authorization": httplimit.Header("Authorization"),
		"basic":         httplimit.BasicUser(),
		"composed":      httplimit.Compose(httplimit.ClientIP(), httplimit.APIKey("X-API-Key")),
		"first":         httplimit.FirstOf(httplimit.BearerToken(), httplimit.Cookie("sid"), httplimit.ClientIP()),
		"secret": httplimit.Secret(httplimit.KeyFunc(func(r *http.Request) (string, error) {
			return r.Header.Get("X-API-Key"), nil
		})),
	}
	headers := map[string][][2]string{
		"one of each": {{"Authorization", "Bearer " + token}, {"X-API-Key", token}, {"Cookie", "sid=" + token}},
		"basic":       {{"Authorization", "Basic " + basic}},
		"malformed":   {{"Authorization", "Bearer " + token + " " + token}, {"Cookie", "sid=" + token + "; sid=" + token}},
		"two lines": {{"Authorization", "Bearer " + token}, {"Authorization", "Bearer " + token}, {"X-API-Key", token},
			{"X-API-Key", token}},
		"a long value": {{"X-API-Key", strings.Repeat(token, 100)},
			{"Authorization", "Bearer " + strings.Repeat(token, 100)}},
		"other letters": {{"authorization", "bearer " + token}, {"x-api-key", token}},
	}
	stores := map[string]*scripted{
		"allows":  {},
		"refuses": {answer: func(c *limiter.Charge) { c.Decision = limiter.Decision{RetryAfter: 1} }},
		"fails":   {err: errors.New("store is down")},
	}
	for keyName, key := range keys {
		for storeName, store := range stores {
			t.Run(keyName+"/"+storeName, func(t *testing.T) {
				var out bytes.Buffer
				m := mustNew(t, httplimit.Config{
					Store: store, Headers: httplimit.RateLimitFields | httplimit.XRateLimitEpoch,
					Logger: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})),
					Rules: []httplimit.Rule{
						{Name: "first", Key: key, Limit: limiter.PerDay(5)},
						{Name: "shadow", Key: key, Limit: limiter.PerDay(5), Shadow: true, Failure: httplimit.FailOpen},
					},
				})
				for _, lines := range headers {
					r := httptest.NewRequest(http.MethodGet, "/", nil)
					for _, line := range lines {
						r.Header.Add(line[0], line[1])
					}
					answer := serveRequest(m, r).Result()
					_ = answer.Write(&out)
				}
				charges := store.charges()
				if len(charges) == 0 {
					t.Fatal("nothing reached the store, so nothing was looked at")
				}
				for _, charge := range charges {
					fmt.Fprintf(&out, "%q %q\n", charge.Scope, charge.Key)
				}
				for _, secret := range []string{token, basic, base64.RawURLEncoding.EncodeToString([]byte(token))} {
					if strings.Contains(out.String(), secret) {
						t.Errorf("the secret %q is in what left the middleware:\n%s", secret, out.String())
					}
				}
			})
		}
	}
}
