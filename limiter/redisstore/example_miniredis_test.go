package redisstore_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/redisstore"
)

// This is how the test of an application may have a Redis: in its own process, with a clock that the test moves. It
// works as well with the address of a real server, but for the clock.
func TestApplicationOnMiniredis(t *testing.T) {
	server := miniredis.RunT(t)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) // a window begins
	server.SetTime(now)
	server.ClockTTL(true) // what expires does so by that clock

	client := redis.NewClient(&redis.Options{Addr: server.Addr(), ContextTimeoutEnabled: true})
	defer client.Close()
	store, err := redisstore.New(client, redisstore.Config{
		Timeout:   time.Second, // a busy machine is no outage
		DenyCache: -1,          // it remembers refusals by the clock of this process
	})
	if err != nil {
		t.Fatal(err)
	}
	m, err := httplimit.New(httplimit.Config{Store: store, Rules: []httplimit.Rule{
		{Name: "signup", Key: httplimit.ClientIP(), Limit: limiter.PerHour(1), Failure: httplimit.FailClosed},
	}})
	if err != nil {
		t.Fatal(err)
	}
	application := m.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {}))
	ask := func(want int) http.Header {
		t.Helper()
		w := httptest.NewRecorder()
		application.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/signup", nil))
		if w.Code != want {
			t.Fatalf("got %d, want %d", w.Code, want)
		}
		return w.Header()
	}

	ask(http.StatusOK)
	wait, err := strconv.Atoi(ask(http.StatusTooManyRequests).Get("Retry-After"))
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Duration(wait) * time.Second)
	server.SetTime(now)
	ask(http.StatusOK)

	server.Close() // the store is down
	ask(http.StatusServiceUnavailable)
}
