package frameworks_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/kvstore"
)

// recorder is a store that writes down what it is asked, and what else there is to note.
type recorder struct {
	limiter.Store
	take func(ctx context.Context, charges []limiter.Charge) (bool, error)

	mu    sync.Mutex
	lines []string
}

func record(store limiter.Store) *recorder { return &recorder{Store: store, take: store.Take} }

func (r *recorder) Take(ctx context.Context, charges []limiter.Charge) (bool, error) {
	asked := describe(charges)
	taken, err := r.take(ctx, charges)
	switch {
	case err != nil:
		asked += " -> undecided"
	case !taken:
		asked += " -> refused"
	}
	r.note(asked)
	return taken, err
}

func (r *recorder) note(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, line)
}

// noted returns what was noted since it was last called.
func (r *recorder) noted() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := r.lines
	r.lines = nil
	return lines
}

// describe writes a batch as "take /ip 192.0.2.7 1, shadow /shadow 192.0.2.7 1": mode, scope, key and cost of each.
func describe(charges []limiter.Charge) string {
	modes := map[limiter.Mode]string{limiter.Enforce: "take", limiter.Shadow: "shadow", limiter.Peek: "peek",
		limiter.Force: "force"}
	parts := make([]string, len(charges))
	for i, c := range charges {
		parts[i] = fmt.Sprintf("%s %s %s %d", modes[c.Mode], c.Scope, c.Key, c.Cost)
	}
	return strings.Join(parts, ", ")
}

// frozen is a store whose clock stands still at the beginning of a day, so that every field of an answer is known.
func frozen(t *testing.T) limiter.Store {
	t.Helper()
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	store, err := kvstore.New(&memory{counts: map[string]int64{}}, kvstore.Config{
		Now:       func() time.Time { return now },
		Timeout:   time.Minute, // of real time: a busy machine is no outage
		DenyCache: -1,          // which would decide in place of the store
	})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// memory is a [kvstore.KV] in which nothing expires.
type memory struct {
	mu     sync.Mutex
	counts map[string]int64
}

func (m *memory) Get(_ context.Context, keys ...string) ([]int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	counts := make([]int64, len(keys))
	for i, key := range keys {
		counts[i] = m.counts[key]
	}
	return counts, nil
}

func (m *memory) Add(_ context.Context, key string, delta int64, _ time.Duration) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts[key] = max(0, m.counts[key]+delta)
	return m.counts[key], nil
}
