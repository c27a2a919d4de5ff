package httplimit_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
)

// The text of a panic is all that an operator sees of it: it says which field is wrong.
func TestOneLinersPanicOnFaults(t *testing.T) {
	for name, tt := range map[string]struct {
		call func()
		want string
	}{
		"PerIP without a window": {func() { httplimit.PerIP(1, 0) }, `Rules[0] "ip".Limit`},
		"PerIP below 0":          {func() { httplimit.PerIP(-1, time.Second) }, `Rules[0] "ip".Limit`},
		"PerKey without a key":   {func() { httplimit.PerKey(1, time.Second, nil) }, `Rules[0] "key".Key`},
		"PerKey of a faulty key": {func() { httplimit.PerKey(1, time.Second, httplimit.Header("")) }, `Rules[0] "key".Key`},
		"Must of a fault":        {func() { httplimit.Must(httplimit.New(httplimit.Config{})) }, "Rules: there are none"},
		"Must of any error":      {func() { httplimit.Must(nil, errDown) }, errDown.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if err, ok := recover().(error); !ok || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("panic: got %v, want an error with %q", err, tt.want)
				}
			}()
			tt.call()
		})
	}
}

func TestMustReturnsTheMiddleware(t *testing.T) {
	m := &httplimit.Middleware{}
	if got := httplimit.Must(m, nil); got != m {
		t.Errorf("got %p, want %p", got, m)
	}
}

// TestPerKey: one bucket for each identity, and those without one are counted by the address of their peer.
func TestPerKey(t *testing.T) {
	h := httplimit.PerKey(1, 24*time.Hour, httplimit.Header("X-User"))(http.NotFoundHandler())
	for i, request := range []struct {
		user, peer string
		want       int
	}{
		{"ann", "192.0.2.1:1", 404},
		{"ann", "192.0.2.2:1", 429},
		{"bob", "192.0.2.1:1", 404},
		{"", "192.0.2.1:1", 404},
		{"", "192.0.2.1:1", 429},
		{"", "192.0.2.2:1", 404},
	} {
		r := get()
		r.RemoteAddr = request.peer
		if request.user != "" {
			r.Header.Set("X-User", request.user)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != request.want {
			t.Errorf("request %d, of %q from %s: got %d, want %d", i+1, request.user, request.peer, w.Code, request.want)
		}
		if got, want := w.Header().Get("RateLimit-Policy"), `"key";q=1;w=86400`; got != want {
			t.Errorf("request %d: RateLimit-Policy: got %s, want %s", i+1, got, want)
		}
	}
}
