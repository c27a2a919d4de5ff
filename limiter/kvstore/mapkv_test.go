package kvstore_test

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/httplimit/httplimit/limiter/kvstore"
)

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

// hooked is a KV that asks before each call: the hook may wait, fail or panic.
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

// hand is a clock that a test sets.
type hand struct {
	mu  sync.Mutex
	now time.Time
}

// newHand starts at the turn of a window of any usual length.
func newHand() *hand { return &hand{now: time.UnixMilli(1_800_000_000_000)} }

func (h *hand) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *hand) Advance(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}
