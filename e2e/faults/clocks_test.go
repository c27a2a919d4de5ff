package faults_test

import (
	"context"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/bradfitz/gomemcache/memcache"
	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/e2e/servers"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memcachestore"
	"github.com/httplimit/httplimit/limiter/redisstore"
)

// over makes a Middleware with one rule.
func over(t *testing.T, store limiter.Store, limit limiter.Limit) *httplimit.Middleware {
	t.Helper()
	m, err := httplimit.New(httplimit.Config{Store: store, Rules: []httplimit.Rule{{
		Name: "rule", Key: httplimit.Everyone(), Limit: limit, Failure: httplimit.FailClosed,
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// admitted asks n times for the client, and returns how often it was admitted.
func admitted(t *testing.T, m *httplimit.Middleware, n int) int {
	t.Helper()
	passed := 0
	for range n {
		v, err := m.Allow(context.Background(), "rule")
		if err != nil {
			t.Fatal(err)
		}
		if v.Allowed {
			passed++
		}
	}
	return passed
}

// The clock of a Redis steps an hour back or forward, as after a failover to a server whose clock is wrong: it frees
// no key that is over the limit of its window, and locks no key out for longer than two windows.
func TestRedisClockSteps(t *testing.T) {
	const requests = 10
	for _, algorithm := range []limiter.Algorithm{limiter.SlidingWindow, limiter.SlidingLog, limiter.FixedWindow,
		limiter.TokenBucket, limiter.StrictWindow} {
		t.Run(algorithm.String(), func(t *testing.T) {
			server := miniredis.RunT(t)
			server.ClockTTL(true)
			now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
			server.SetTime(now)
			pass := func(d time.Duration) { now = now.Add(d); server.SetTime(now) }

			client := connect(t, &redis.Options{Addr: server.Addr()})
			store := redisStore(t, client, redisstore.Config{Timeout: patience, DenyCache: -1}) // which has this process's clock
			m := over(t, store, limiter.Limit{Requests: requests, Window: time.Minute, Algorithm: algorithm})

			if got := admitted(t, m, 2*requests); got != requests {
				t.Fatalf("at first: admitted %d, want %d", got, requests)
			}
			pass(-time.Hour)
			if got := admitted(t, m, requests); got != 0 {
				t.Errorf("after a step back of an hour: admitted %d more, want none", got)
			}
			pass(2 * time.Minute)
			if got := admitted(t, m, 2*requests); got != requests {
				t.Errorf("two windows after a step back: admitted %d, want %d", got, requests)
			}
			pass(time.Hour)
			if got := admitted(t, m, 2*requests); got != requests {
				t.Errorf("after a step forward of an hour: admitted %d, want %d", got, requests)
			}
		})
	}
}

// Two processes whose clocks are 5 s apart share a memcached. Within Config.Skew the limit holds as if they agreed;
// beyond it the faster one may miss what the slower one still counts before the boundary: at most the limit more each.
func TestMemcachedClocksApart(t *testing.T) {
	const (
		requests = 20
		window   = 10 * time.Second
		apart    = 5 * time.Second
		step     = 250 * time.Millisecond
	)
	for _, tc := range []struct {
		name   string
		skew   time.Duration
		excess int // above the estimate
	}{
		{"within Skew", apart + time.Second, 0},
		{"beyond Skew", 100 * time.Millisecond, requests},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server := servers.Memcached(t)
			base := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
			now := base
			var processes []*httplimit.Middleware
			for i := range 2 {
				ahead := time.Duration(i) * apart
				client := memcache.New(server.Addr())
				t.Cleanup(func() { client.Close() })
				processes = append(processes, over(t, memcachedStore(t, client, memcachestore.Config{
					Timeout: patience, DenyCache: -1, Skew: tc.skew, Now: func() time.Time { return now.Add(ahead) },
				}), limiter.Per(requests, window)))
			}
			windows := make(map[int64]int) // how often both were admitted, by number of the window
			for ; now.Sub(base) < 6*window; now = now.Add(step) {
				for i, m := range processes {
					clock := now.Add(time.Duration(i) * apart)
					number, rest := clock.UnixNano()/int64(window), window-clock.Sub(clock.Truncate(window))
					passed := admitted(t, m, 2)
					windows[number] += passed
					estimate := float64(windows[number]) + float64(windows[number-1])*float64(rest)/float64(window)
					if most := float64(requests + tc.excess); passed > 0 && estimate > most+1 { // the estimate may be one above
						t.Errorf("process %d at %v: the estimate is %.2f after a request was let through, want at most %.0f", i,
							now.Sub(base), estimate, most)
					}
				}
			}
			for number, passed := range windows {
				if passed > requests {
					t.Errorf("window %d let %d through, want at most %d", number, passed, requests)
				}
			}
		})
	}
}
