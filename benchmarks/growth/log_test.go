package growth_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
)

// mostEntries bounds how long it takes to fill a log: an entry is what was taken in one millisecond.
const mostEntries = 5000

// BenchmarkGrowthLog decides by an exact log: full, of up to mostEntries entries, and refusing, for one unit and for
// half of the limit; and in use, where units come and go.
func BenchmarkGrowthLog(b *testing.B) {
	for limit := int64(1); limit <= 100_000; limit *= 10 {
		full := sync.OnceValue(func() *memstore.Store { return fillLog(b, limit) })
		b.Run(fmt.Sprintf("limit=%d/cost=1/answer=refused/limiter=httplimit", limit), func(b *testing.B) {
			refuse(b, full(), limit, 1)
		})
		b.Run(fmt.Sprintf("limit=%d/cost=half/answer=refused/limiter=httplimit", limit), func(b *testing.B) {
			refuse(b, full(), limit, max(1, limit/2))
		})
		b.Run(fmt.Sprintf("limit=%d/cost=1/answer=mixed/limiter=httplimit", limit), func(b *testing.B) {
			store := newStore(b, 1<<18)
			charges := logCharge(limit, 100*time.Millisecond, 1)
			for range b.N {
				if _, err := store.Take(context.Background(), charges); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func logCharge(limit int64, window time.Duration, cost int64) []limiter.Charge {
	l := limiter.Limit{Requests: limit, Window: window, Algorithm: limiter.SlidingLog}
	return []limiter.Charge{{Scope: "api/ip", Key: "192.0.2.1", Limit: l, Cost: cost}}
}

// fillLog spends all of the limit, as evenly as milliseconds go.
func fillLog(b *testing.B, limit int64) *memstore.Store {
	store := newStore(b, 1<<18)
	entries := min(limit, mostEntries)
	began := time.Now()
	for i := range entries {
		charges := logCharge(limit, time.Hour, (i+1)*limit/entries-i*limit/entries)
		if taken, err := store.Take(context.Background(), charges); !taken || err != nil {
			b.Fatalf("Take: got %v, %v, want true", taken, err)
		}
		time.Sleep(time.Until(began.Add(time.Duration(i+1) * time.Millisecond)))
	}
	return store
}

func refuse(b *testing.B, store limiter.Store, limit, cost int64) {
	charges := logCharge(limit, time.Hour, cost)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if taken, err := store.Take(context.Background(), charges); taken || err != nil {
			b.Fatalf("Take: got %v, %v, want false", taken, err)
		}
	}
}
