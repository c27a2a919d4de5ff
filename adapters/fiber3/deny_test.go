package fiber3limit_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v3"
	"github.com/httplimit/httplimit"
	fiber3limit "github.com/httplimit/httplimit/adapters/fiber3"
	"github.com/httplimit/httplimit/limiter"
)

// TestDenyAnswersLikeTheMiddleware: what a handler refuses after Allow, and what an OnDeny leaves to Deny, has the
// fields and the body of every refusal. Retry-After is there once.
func TestDenyAnswersLikeTheMiddleware(t *testing.T) {
	unknown := httplimit.KeyFunc(func(*http.Request) (string, error) { return "", httplimit.ErrSkip })
	byHand := func(v httplimit.Verdict) httplimit.Denial {
		return httplimit.Denial{RetryAfter: v.RetryAfter, Rules: []httplimit.Verdict{v}}
	}
	denied := func(v httplimit.Verdict) httplimit.Denial { d, _ := v.Denied(); return d }
	tests := map[string]struct {
		rule   httplimit.Rule
		refuse func(httplimit.Verdict) httplimit.Denial // in the handler; nil: OnDeny refuses
		want   []string
	}{
		"OnDeny":                {httplimit.Rule{Name: "ip"}, nil, []string{"ip"}},
		"Allow":                 {httplimit.Rule{Name: "login", Key: unknown}, denied, []string{"login"}},
		"Allow, made by hand":   {httplimit.Rule{Name: "login", Key: unknown}, byHand, []string{"login"}},
		"Allow, private":        {httplimit.Rule{Name: "login", Key: unknown, Private: true}, denied, nil},
		"private, made by hand": {httplimit.Rule{Name: "login", Key: unknown, Private: true}, byHand, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.rule.Limit = limiter.PerDay(1)
			m := limit(t, nil, tt.rule)
			app := fiber.New()
			app.Use(fiber3limit.New(m, fiber3limit.Config{OnDeny: fiber3limit.Deny}))
			app.Get("/", func(c fiber.Ctx) error {
				if tt.refuse == nil {
					return hello(c)
				}
				v, err := m.Allow(c.Context(), "login", "alice")
				if err != nil || v.Allowed {
					return errors.Join(err, hello(c))
				}
				return fiber3limit.Deny(c, tt.refuse(v))
			})
			url := serve(t, app)
			if a := get(t, url); a.StatusCode != http.StatusOK || a.body != "hello" || a.Header.Get("Retry-After") != "" {
				t.Errorf("the first request: got %s %q %v, want 200 hello", a.Status, a.body, a.Header)
			}
			a := get(t, url)
			checkRefusal(t, a, tt.want...)
			if got := a.Header["Retry-After"]; len(got) != 1 {
				t.Errorf("Retry-After: got %q, want one", got)
			}
			if tt.rule.Private && strings.Contains(a.body, "login") {
				t.Errorf("the body %q names a private rule", a.body)
			}
		})
	}
}
