package memstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
)

const plenty = 1_000_000_000

func BenchmarkHotKey(b *testing.B) {
	for _, algorithm := range algorithms {
		for _, allowed := range []bool{true, false} {
			l := limiter.Limit{Requests: plenty, Window: time.Hour, Algorithm: algorithm}
			if algorithm == limiter.TokenBucket {
				l.Window = time.Second
			}
			if algorithm == limiter.SlidingLog {
				l.Requests, l.Window = 100_000, time.Millisecond
			}
			if !allowed {
				l.Requests, l.Window = 1, time.Hour
			}
			b.Run(fmt.Sprintf("algorithm=%v/allowed=%v", algorithm, allowed), func(b *testing.B) {
				store := newStore(b, 0)
				if !allowed {
					take(b, store, true, &[1]limiter.Charge{{Scope: "api/perip", Key: "192.0.2.1", Limit: l, Cost: 1}})
				}
				b.ReportAllocs()
				b.RunParallel(func(pb *testing.PB) {
					c := [1]limiter.Charge{{Scope: "api/perip", Key: "192.0.2.1", Limit: l, Cost: 1}}
					for pb.Next() {
						take(b, store, allowed, &c)
					}
				})
			})
		}
	}
}

// addresses returns that many different keys.
func addresses(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("2001:db8:%x:%x::/64", i>>16, i&0xffff)
	}
	rand.Shuffle(n, func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	return keys
}

func BenchmarkRandomKeys(b *testing.B) {
	keys := addresses(100_000)
	for _, requests := range []int64{plenty, 1} {
		allowed := requests > 1
		b.Run(fmt.Sprintf("keys=%d/allowed=%v", len(keys), allowed), func(b *testing.B) {
			store := newStore(b, 0)
			l := limiter.PerHour(requests)
			for _, key := range keys {
				take(b, store, true, &[1]limiter.Charge{{Scope: "api/perip", Key: key, Limit: l, Cost: 1}})
			}
			b.ReportAllocs()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				c := [1]limiter.Charge{{Scope: "api/perip", Limit: l, Cost: 1}}
				for i := rand.IntN(len(keys)); pb.Next(); i++ {
					if i == len(keys) {
						i = 0
					}
					c[0].Key = keys[i]
					take(b, store, allowed, &c)
				}
			})
		})
	}
}

func BenchmarkZipf(b *testing.B) {
	const n = 1_000_000
	keys := addresses(n)
	order := make([]int32, 1<<20)
	zipf := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 1, n-1)
	for i := range order {
		order[i] = int32(zipf.Uint64())
	}
	store := newStore(b, 0)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		c := [1]limiter.Charge{{Scope: "api/perip", Limit: limiter.PerHour(plenty), Cost: 1}}
		for i := rand.IntN(len(order)); pb.Next(); i++ {
			c[0].Key = keys[order[i%len(order)]]
			take(b, store, true, &c)
		}
	})
}

// BenchmarkFlood takes a new key every time, into a store that has room for all of them, for half, or for few. worst-ns
// is the longest single operation, what the scheduler and the garbage collector did meanwhile included.
func BenchmarkFlood(b *testing.B) {
	keys := addresses(2_000_000)
	for _, maxKeys := range []int{len(keys), len(keys) / 2, 1 << 16} {
		for name, l := range map[string]limiter.Limit{
			"few": limiter.PerHour(100),
			"one": limiter.PerHour(1), // every key at its limit
			// Buckets that are full again after some milliseconds, so that a full store always has something to sweep.
			"refills": {Requests: 1_000_000, Window: time.Hour, Algorithm: limiter.TokenBucket},
		} {
			b.Run(fmt.Sprintf("maxkeys=%d/limit=%s", maxKeys, name), func(b *testing.B) {
				store := newStore(b, maxKeys)
				c := [1]limiter.Charge{{Scope: "api/perip", Limit: l, Cost: 1}}
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					if i == len(keys) {
						b.StopTimer()
						store, i = newStore(b, maxKeys), 0
						b.StartTimer()
					}
					c[0].Key = keys[i]
					i++
					if _, err := store.Take(context.Background(), c[:]); err != nil {
						b.Fatal(err)
					}
				}
				b.StopTimer()
				b.ReportMetric(float64(worstOf(b, newStore(b, maxKeys), l, keys)), "worst-ns")
			})
		}
	}
}

func worstOf(b *testing.B, store limiter.Store, l limiter.Limit, keys []string) (worst time.Duration) {
	c := [1]limiter.Charge{{Scope: "api/perip", Limit: l, Cost: 1}}
	for _, key := range keys {
		c[0].Key = key
		begun := time.Now()
		if _, err := store.Take(context.Background(), c[:]); err != nil {
			b.Fatal(err)
		}
		worst = max(worst, time.Since(begun))
	}
	return worst
}

func BenchmarkBatch(b *testing.B) {
	store := newStore(b, 0)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		charges := []limiter.Charge{
			{Scope: "api/burst", Key: "192.0.2.1", Limit: limiter.PerSecond(plenty), Cost: 1},
			{Scope: "api/daily", Key: "192.0.2.1", Limit: limiter.PerDay(plenty), Cost: 1},
			{Scope: "api/all", Key: "", Limit: limiter.PerMinute(plenty), Cost: 1},
		}
		for pb.Next() {
			if taken, err := store.Take(context.Background(), charges); !taken || err != nil {
				b.Errorf("Take: got %v, %v, want true", taken, err)
			}
		}
	})
}

// BenchmarkStrictWindow compares StrictWindow with SlidingWindow: what fits, and refusals of clients whose units came
// at once, or in all parts of the window.
func BenchmarkStrictWindow(b *testing.B) {
	const window, requests = 1000 * time.Hour, 10
	for _, n := range []int{1, 100_000} {
		keys := addresses(n)
		for _, answer := range []string{"allowed", "refused", "refused-spread"} {
			for _, algorithm := range []limiter.Algorithm{limiter.SlidingWindow, limiter.StrictWindow} {
				b.Run(fmt.Sprintf("keys=%d/answer=%s/algorithm=%v", n, answer, algorithm), func(b *testing.B) {
					store := newStore(b, 2*n)
					advance := memstore.StopClock(store)
					c := [1]limiter.Charge{{Scope: "api/perip", Cost: 1}}
					c[0].Limit = limiter.Limit{Requests: requests, Window: window, Algorithm: algorithm}
					advance(window - time.Duration(spend(b, store, "", c[0].Limit, 0).At%window.Milliseconds())*time.Millisecond)
					for range requests {
						for _, c[0].Key = range keys {
							take(b, store, true, &c)
						}
						if answer == "refused-spread" {
							advance(window / (requests + 1))
						}
					}
					if answer == "allowed" {
						c[0].Limit.Requests = plenty
					}
					b.ReportAllocs()
					b.ResetTimer()
					for i := range b.N {
						c[0].Key = keys[i%n]
						take(b, store, answer == "allowed", &c)
					}
				})
			}
		}
	}
}
