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

// Streams of two instances pay first for the most that they may cost, and give back what they have not used: some at
// once and in parts, some when the request is long over, some twice.
func TestSpendGivesBackExactly(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: servers.Redis(t).Addr(), ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	const plenty, streams, most, added, unused = 100_000, 60, 100, 20, 70
	for _, algorithm := range []limiter.Algorithm{
		limiter.SlidingWindow, limiter.FixedWindow, limiter.SlidingLog, limiter.TokenBucket,
	} {
		t.Run(algorithm.String(), func(t *testing.T) {
			limit := limiter.Limit{Requests: plenty, Window: 366 * 24 * time.Hour, Algorithm: algorithm}
			var instances []*httplimit.Middleware
			for range 2 {
				store, err := redisstore.New(client, redisstore.Config{Timeout: 30 * time.Second})
				if err != nil {
					t.Fatal(err)
				}
				m, err := httplimit.New(httplimit.Config{Store: store, Expose: true, Rules: []httplimit.Rule{{
					Name: "tokens", Key: httplimit.Everyone(), Limit: limit, Failure: httplimit.FailClosed,
					Cost: func(*http.Request) (int64, error) { return most, nil },
				}}})
				if err != nil {
					t.Fatal(err)
				}
				instances = append(instances, m)
			}
			var wg sync.WaitGroup
			giveBack := func(ctx context.Context, n int64) {
				wg.Go(func() {
					if err := httplimit.Spend(ctx, "tokens", -n); err != nil {
						t.Error(err)
					}
				})
			}
			for i := range streams {
				wg.Go(func() {
					handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
						if err := httplimit.Spend(r.Context(), "tokens", added); err != nil {
							t.Error(err)
						}
						switch ctx := r.Context(); i % 3 {
						case 0:
							giveBack(ctx, unused)
						case 1:
							giveBack(ctx, unused-1)
							giveBack(ctx, 1)
						case 2: // everything, and more than that
							giveBack(ctx, most)
							giveBack(ctx, most)
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
			if got, want := plenty-v.Remaining, int64(streams*2/3*(most+added-unused)); got != want {
				t.Errorf("spent: got %d, want %d", got, want)
			}
		})
	}
}
