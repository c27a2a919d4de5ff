package fleet_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/e2e/servers"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/redisstore"
	"github.com/redis/go-redis/v9"
)

// Units that handlers of two instances spend at the same time add up, less those that a status refunds.
func TestSpendIsExact(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: servers.Redis(t).Addr(), ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	const plenty, requests, spends, tokens = 1_000_000, 50, 4, 25
	var instances []*httplimit.Middleware
	for range 2 {
		// A time-out that only a broken store reaches: a decision by a policy would not be counted in Redis.
		store, err := redisstore.New(client, redisstore.Config{Timeout: 30 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		m, err := httplimit.New(httplimit.Config{Store: store, Expose: true, Rules: []httplimit.Rule{{
			Name: "tokens", Key: httplimit.Everyone(), Limit: limiter.Per(plenty, 366*24*time.Hour),
			Failure:     httplimit.FailClosed,
			CountStatus: func(status int) bool { return status == http.StatusOK },
		}}})
		if err != nil {
			t.Fatal(err)
		}
		instances = append(instances, m)
	}
	var wg sync.WaitGroup
	for i := range requests {
		wg.Go(func() {
			handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var parts sync.WaitGroup
				for range spends {
					parts.Go(func() {
						if err := httplimit.Spend(r.Context(), "tokens", tokens); err != nil {
							t.Error(err)
						}
					})
				}
				parts.Wait()
				if i%5 == 0 {
					w.WriteHeader(http.StatusBadGateway) // costs nothing
				}
			})
			request := httptest.NewRequest(http.MethodGet, "/", nil)
			instances[i%2].Handler(handler).ServeHTTP(httptest.NewRecorder(), request)
		})
	}
	wg.Wait()
	v, err := instances[0].Peek(context.Background(), "tokens")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := plenty-v.Remaining, int64(requests*4/5*(1+spends*tokens)); got != want {
		t.Errorf("spent: got %d, want %d", got, want)
	}
}
