package kvstore_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/kvstore"
)

// patient is a Timeout that no slow test machine exceeds, and short enough for previous windows to be remembered.
const patient = 5 * time.Second

func newStore(t *testing.T, kv kvstore.KV, cfg kvstore.Config) *kvstore.Store {
	t.Helper()
	store, err := kvstore.New(kv, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func take(t *testing.T, store limiter.Store, c limiter.Charge) limiter.Charge {
	t.Helper()
	batch := []limiter.Charge{c}
	if _, err := store.Take(context.Background(), batch); err != nil {
		t.Fatal(err)
	}
	return batch[0]
}

func charge(limit limiter.Limit, cost int64) limiter.Charge {
	return limiter.Charge{Scope: "s", Key: "k", Limit: limit, Cost: cost}
}

// mapKV is a KV in a map, on a clock that a test moves.
type mapKV struct {
	now func() time.Time

	mu     sync.Mutex
	counts map[string]mapCount

	gets, adds atomic.Int64
}

type mapCount struct {
	n       int64
	expires time.Time
}

func newMapKV(now func() time.Time) *mapKV {
	return &mapKV{now: now, counts: map[string]mapCount{}}
}

func (kv *mapKV) Get(_ context.Context, keys ...string) ([]int64, error) {
	kv.gets.Add(1)
	kv.mu.Lock()
	defer kv.mu.Unlock()
	counts := make([]int64, len(keys))
	for i, key := range keys {
		if c, ok := kv.counts[key]; ok && kv.now().Before(c.expires) {
			counts[i] = c.n
		}
	}
	return counts, nil
}

func (kv *mapKV) Add(_ context.Context, key string, delta int64, ttl time.Duration) (int64, error) {
	kv.adds.Add(1)
	kv.mu.Lock()
	defer kv.mu.Unlock()
	c, ok := kv.counts[key]
	if !ok || !kv.now().Before(c.expires) {
		if delta <= 0 {
			return 0, nil
		}
		c = mapCount{expires: kv.now().Add(ttl)}
	}
	c.n = max(0, c.n+delta)
	kv.counts[key] = c
	return c.n, nil
}

// sum is what all keys together hold, expired or not.
func (kv *mapKV) sum() (sum int64) {
	kv.mu.Lock()
	defer kv.mu.Unlock()
	for _, c := range kv.counts {
		sum += c.n
	}
	return sum
}

// hooked is a KV that calls a hook before each call: the hook may wait, fail or panic.
type hooked struct {
	kvstore.KV
	get func(ctx context.Context, keys []string) error
	add func(ctx context.Context, key string, delta int64) error
}

func (kv hooked) Get(ctx context.Context, keys ...string) ([]int64, error) {
	if kv.get != nil {
		if err := kv.get(ctx, keys); err != nil {
			return nil, err
		}
	}
	return kv.KV.Get(ctx, keys...)
}

func (kv hooked) Add(ctx context.Context, key string, delta int64, ttl time.Duration) (int64, error) {
	if kv.add != nil {
		if err := kv.add(ctx, key, delta); err != nil {
			return 0, err
		}
	}
	return kv.KV.Add(ctx, key, delta, ttl)
}

// once returns a hook for Add that calls f before the first addition.
func once(f func()) func(context.Context, string, int64) error {
	called := false
	return func(context.Context, string, int64) error {
		if !called {
			called = true
			f()
		}
		return nil
	}
}

// nth returns a hook that calls f in its calls from first (the first is 1) to last, or in all later ones if last is 0.
func nth(first, last int64, f func() error) func(context.Context, string, int64) error {
	var calls atomic.Int64
	return func(context.Context, string, int64) error {
		if n := calls.Add(1); n < first || last != 0 && n > last {
			return nil
		}
		return f()
	}
}

// manualClock is a clock that a test moves.
type manualClock struct {
	mu  sync.Mutex
	now time.Time
}

// newClock returns a clock that starts at a boundary of windows of any usual length.
func newClock() *manualClock { return &manualClock{now: time.UnixMilli(1_800_000_000_000)} }

func (c *manualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *manualClock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// ahead returns the time of a clock that is ahead of c by d.
func (c *manualClock) ahead(d time.Duration) func() time.Time {
	return func() time.Time { return c.Now().Add(d) }
}
