package redisstore_test

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/redisstore"
)

// BenchmarkTake decides for callers that each wait for their answer, over 10,000 keys, and reports the server's
// CPU time for each decision. outcome=refused is without the deny cache, which would answer instead.
func BenchmarkTake(b *testing.B) {
	addr := startRedis(b)
	for _, outcome := range []string{"allowed", "refused"} {
		for _, heeds := range []bool{true, false} {
			for _, callers := range []int{1, 64, 256} {
				b.Run(fmt.Sprintf("outcome=%s/deadlines=%v/callers=%d", outcome, heeds, callers), func(b *testing.B) {
					client := redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: heeds})
					defer client.Close()
					store := newStore(b, client, redisstore.Config{DenyCache: -1, Prefix: outcome + ":"})
					limit := limiter.PerMinute(1_000_000)
					cost := int64(1)
					if outcome == "refused" {
						limit, cost = limiter.PerMinute(1), 2
					}
					benchmarkTake(b, client, store, limit, cost, callers)
				})
			}
		}
	}
}

func benchmarkTake(
	b *testing.B, client *redis.Client, store *redisstore.Store, limit limiter.Limit, cost int64, callers int,
) {
	var next atomic.Int64
	warm := limiter.Charge{Scope: "bench", Key: "warm", Limit: limit, Cost: 1}
	if _, err := store.Take(b.Context(), []limiter.Charge{warm}); err != nil {
		b.Fatal(err)
	}
	before := serverCPU(b, client)
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			charges := make([]limiter.Charge, 1)
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				key := "192.0.2." + strconv.FormatInt(i*7919%10_000, 10)
				charges[0] = limiter.Charge{Scope: "bench", Key: key, Limit: limit, Cost: cost}
				taken, err := store.Take(b.Context(), charges)
				if err != nil || taken != (cost == 1) {
					b.Errorf("taken %v, error %v", taken, err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	cpu := serverCPU(b, client) - before
	b.ReportMetric(float64(cpu.Nanoseconds())/float64(b.N), "server-ns/op")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
}

func serverCPU(b *testing.B, client *redis.Client) time.Duration {
	info, err := client.InfoMap(b.Context(), "cpu").Result()
	if err != nil {
		b.Fatal(err)
	}
	var total float64
	for _, name := range []string{"used_cpu_user", "used_cpu_sys"} {
		seconds, err := strconv.ParseFloat(info["CPU"][name], 64)
		if err != nil {
			b.Fatal(err)
		}
		total += seconds
	}
	return time.Duration(total * float64(time.Second))
}
