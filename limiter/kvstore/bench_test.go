package kvstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/kvstore"
)

// free is a KV that costs nothing: what is measured is the Store.
type free struct{}

func (free) Get(_ context.Context, keys ...string) ([]int64, error) {
	return make([]int64, len(keys)), nil
}

func (free) Add(_ context.Context, _ string, delta int64, _ time.Duration) (int64, error) {
	return max(0, delta), nil
}

func BenchmarkTake(b *testing.B) {
	store, err := kvstore.New(free{}, kvstore.Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		batch := []limiter.Charge{{Scope: "bench", Key: "192.0.2.7", Limit: limiter.PerHour(100), Cost: 1}}
		for pb.Next() {
			if taken, err := store.Take(context.Background(), batch); !taken || err != nil {
				b.Fatal(taken, err)
			}
		}
	})
}
