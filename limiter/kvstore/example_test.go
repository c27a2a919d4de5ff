package kvstore_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/kvstore"
)

// table is the least that a KV can be: one process, and every key for ever.
type table struct {
	mu     sync.Mutex
	counts map[string]int64
}

func (t *table) Get(_ context.Context, keys ...string) ([]int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	counts := make([]int64, len(keys))
	for i, key := range keys {
		counts[i] = t.counts[key]
	}
	return counts, nil
}

func (t *table) Add(_ context.Context, key string, delta int64, _ time.Duration) (int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	sum := max(0, t.counts[key]+delta)
	if sum > 0 || t.counts[key] > 0 {
		t.counts[key] = sum
	}
	return sum, nil
}

// A key-value store becomes a limiter's store with two methods.
func ExampleNew() {
	store, err := kvstore.New(&table{counts: map[string]int64{}}, kvstore.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	mail, err := limiter.New(store, "mail", limiter.PerHour(2))
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		d, err := mail.Allow(context.Background(), "alice@example.com")
		fmt.Println(d.Allowed, d.Remaining, err)
	}
	// Output:
	// true 1 <nil>
	// true 0 <nil>
	// false 0 <nil>
}
