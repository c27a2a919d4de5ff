package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/httplimit/httplimit/examples/console/shop"
	"github.com/httplimit/httplimit/examples/internal/send"
)

// TestLivingPage lets the shop run for five minutes of a clock that is moved, and looks at the page.
func TestLivingPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := shop.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var traffic sync.WaitGroup
		traffic.Go(func() { s.Traffic(ctx) })
		time.Sleep(5 * time.Minute)
		cancel()
		traffic.Wait()
		time.Sleep(3 * time.Second) // exports under way end

		r := httptest.NewRequest(http.MethodGet, "http://localhost/ops/limits/", nil)
		r.RemoteAddr = "127.0.0.1:1"
		w := send.To(s, r)
		for _, want := range []string{
			"address", "login", "shadow", "in force for 50 %", "203.0.113.7", "banned", "2001:db8:7:1::/64",
		} {
			if !strings.Contains(w.Body.String(), want) {
				t.Errorf("got no %q on the page: %d %s", want, w.Code, w.Body)
			}
		}
		r.RemoteAddr = "192.0.2.7:1"
		if w := send.To(s, r); w.Code != http.StatusForbidden || w.Body.Len() > 0 {
			t.Errorf("got %d and %q for somebody else, want 403 and nothing", w.Code, w.Body)
		}
	})
}
