package redisstore_test

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/redisstore"
)

const noCache = -1

var everyAlgorithm = []limiter.Algorithm{
	limiter.SlidingWindow, limiter.SlidingLog, limiter.FixedWindow, limiter.TokenBucket,
	limiter.StrictWindow,
}

func per(a limiter.Algorithm, n int64, window time.Duration) limiter.Limit {
	return limiter.Limit{Requests: n, Window: window, Algorithm: a}
}

func charge(key string, l limiter.Limit, cost int64) limiter.Charge {
	return limiter.Charge{Scope: "scope", Key: key, Limit: l, Cost: cost}
}

// take has charges decided, and fails the test on an error.
func take(t testing.TB, store *redisstore.Store, charges ...limiter.Charge) (taken bool, decided []limiter.Charge) {
	t.Helper()
	taken, err := store.Take(t.Context(), charges)
	if err != nil {
		t.Fatal(err)
	}
	return taken, charges
}

// commands are the commands that the server has run since the counters were set to zero.
func commands(t testing.TB, client *redis.Client) map[string]int {
	t.Helper()
	info, err := client.InfoMap(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]int{}
	for name, stats := range info["Commandstats"] {
		first, _, _ := strings.Cut(stats, ",")
		n, err := strconv.Atoi(strings.TrimPrefix(first, "calls="))
		if err != nil {
			t.Fatal(err)
		}
		calls[strings.TrimPrefix(name, "cmdstat_")] = n
	}
	for _, own := range []string{"info", "config|resetstat"} {
		delete(calls, own)
	}
	return calls
}

// together runs f in that many goroutines and waits for them.
func together(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
