package growth_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/benchmarks/workload"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
)

const plenty = 1_000_000_000

func newStore(b *testing.B, maxKeys int) *memstore.Store {
	b.Helper()
	store, err := memstore.New(memstore.Config{MaxKeys: maxKeys})
	if err != nil {
		b.Fatal(err)
	}
	return store
}

// take takes one unit of each key that next returns, b.N times, and expects what a limit of 1 or of plenty answers.
func take(b *testing.B, store limiter.Store, l limiter.Limit, next func() string) {
	charges := []limiter.Charge{{Scope: "api/ip", Limit: l, Cost: 1}}
	for range b.N {
		charges[0].Key = next()
		if taken, err := store.Take(context.Background(), charges); taken != (l.Requests > 1) || err != nil {
			b.Fatalf("Take: got %v, %v, want %v", taken, err, l.Requests > 1)
		}
	}
}

// BenchmarkGrowthKeys asks for clients at random who have all been there before, and have units left or none.
func BenchmarkGrowthKeys(b *testing.B) {
	for n := 1000; n <= 10_000_000; n *= 10 {
		keys := sync.OnceValue(func() []string { return workload.Addresses(n) })
		for _, answer := range []string{"allowed", "refused"} {
			for _, who := range []struct {
				name      string
				algorithm limiter.Algorithm
			}{{"httplimit", limiter.SlidingWindow}, {"httplimit-strict", limiter.StrictWindow}} {
				l := limiter.Limit{Requests: plenty, Window: workload.Window, Algorithm: who.algorithm}
				if answer == "refused" {
					l.Requests = 1
				}
				filled := sync.OnceValues(func() (*memstore.Store, float64) { return fill(b, l, keys()) })
				b.Run(fmt.Sprintf("keys=%d/answer=%s/limiter=%s", n, answer, who.name), func(b *testing.B) {
					keys := keys()
					store, heap := filled()
					random := rand.New(rand.NewPCG(1, 2))
					b.ReportAllocs()
					b.ResetTimer()
					take(b, store, l, func() string { return keys[random.IntN(n)] })
					b.ReportMetric(heap, "heap-B/key")
				})
			}
		}
	}
}

// fill returns a store in which each of the keys has taken one unit, and how much of the heap it takes for each.
func fill(b *testing.B, l limiter.Limit, keys []string) (store *memstore.Store, heap float64) {
	b.Helper()
	before := inUse()
	store = newStore(b, 2*len(keys))
	charges := []limiter.Charge{{Scope: "api/ip", Limit: l, Cost: 1}}
	for _, charges[0].Key = range keys {
		if taken, err := store.Take(context.Background(), charges); !taken || err != nil {
			b.Fatalf("Take: got %v, %v, want true", taken, err)
		}
	}
	return store, float64(inUse()-before) / float64(len(keys))
}

func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkGrowthThreads asks for one client, or for many, from as many goroutines as there are threads.
func BenchmarkGrowthThreads(b *testing.B) {
	for _, n := range []int{1, 100_000} {
		keys, store := workload.Addresses(n), newStore(b, 0)
		for _, threads := range []int{1, 2, 4} {
			b.Run(fmt.Sprintf("keys=%d/goroutines=%d/limiter=httplimit", n, threads), func(b *testing.B) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
				b.RunParallel(func(pb *testing.PB) {
					charges := []limiter.Charge{{Scope: "api/ip", Limit: limiter.Per(plenty, workload.Window), Cost: 1}}
					random := rand.New(rand.NewPCG(rand.Uint64(), 2))
					for pb.Next() {
						charges[0].Key = keys[random.IntN(n)]
						if taken, err := store.Take(context.Background(), charges); !taken || err != nil {
							b.Errorf("Take: got %v, %v, want true", taken, err)
							return
						}
					}
				})
			})
		}
	}
}

// BenchmarkGrowthRules serves allowed requests to which all rules apply.
func BenchmarkGrowthRules(b *testing.B) {
	for rules := 1; rules <= 8; rules++ {
		b.Run(fmt.Sprintf("rules=%d/limiter=httplimit", rules), func(b *testing.B) {
			cfg := httplimit.Config{}
			for i := range rules {
				cfg.Rules = append(cfg.Rules, httplimit.Rule{
					Name: fmt.Sprintf("rule%d", i), Key: httplimit.ClientIP(),
					Limit: limiter.Per(plenty, time.Duration(i+1)*time.Hour),
				})
			}
			m, err := httplimit.New(cfg)
			if err != nil {
				b.Fatal(err)
			}
			h := m.Handler(
				http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }),
			)
			requests := make([]*http.Request, 1024)
			for i := range requests {
				requests[i] = httptest.NewRequest(http.MethodGet, "/", nil)
				requests[i].RemoteAddr = workload.Address(i) + ":1234"
			}
			w := &answer{header: make(http.Header)}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				clear(w.header)
				if h.ServeHTTP(w, requests[i%len(requests)]); w.status != http.StatusNoContent {
					b.Fatalf("status %d, want 204", w.status)
				}
			}
		})
	}
}

type answer struct {
	header http.Header
	status int
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) Write(b []byte) (int, error) { return len(b), nil }
func (a *answer) WriteHeader(status int)      { a.status = status }
