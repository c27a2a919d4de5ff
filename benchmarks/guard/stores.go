package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/kvstore"
	"github.com/httplimit/httplimit/limiter/memstore"

	"github.com/httplimit/httplimit/benchmarks/workload"
)

// takeOne is a decision on a client that has been decided on before.
func takeOne(limit int64) func() (operation, error) { return takeAgain(charge("ip", limit)) }

func takeStrict(limit int64) func() (operation, error) {
	c := charge("ip", limit)
	c.Limit.Algorithm = limiter.StrictWindow
	return takeAgain(c)
}

func takeAgain(c limiter.Charge) func() (operation, error) {
	return func() (operation, error) {
		store, err := memstore.New(memstore.Config{})
		if err != nil {
			return nil, err
		}
		_, err = store.Take(context.Background(), []limiter.Charge{c})
		return taking(store, c.Limit.Requests > 1, c), err
	}
}

func takeThree() (operation, error) {
	store, err := memstore.New(memstore.Config{})
	minute := charge("minute", plenty)
	minute.Limit.Window = time.Minute
	return taking(store, true, charge("ip", plenty), minute, charge("all", plenty)), err
}

func charge(scope string, limit int64) limiter.Charge {
	return limiter.Charge{Scope: scope, Key: "192.0.2.1", Limit: limiter.Per(limit, workload.Window), Cost: 1}
}

func taking(store limiter.Store, want bool, charges ...limiter.Charge) operation {
	return func() error {
		taken, err := store.Take(context.Background(), charges)
		if err != nil || taken != want {
			return fmt.Errorf("taken is %v (%w), want %v", taken, err, want)
		}
		return nil
	}
}

// newKeys is how many clients a store has seen before the next one begins empty.
const newKeys = 100_000

// takeNew is a decision on a new client. Tables grow, a few times for a thousand clients.
func takeNew() (operation, error) {
	charges := []limiter.Charge{charge("ip", plenty)}
	keys, next := workload.Addresses(newKeys), 0
	var store *memstore.Store
	return func() (err error) {
		if next%newKeys == 0 {
			if store, err = memstore.New(memstore.Config{}); err != nil {
				return err
			}
		}
		charges[0].Key = keys[next%newKeys]
		next++
		_, err = store.Take(context.Background(), charges)
		return err
	}, nil
}

func allow() (operation, error) {
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		return nil, err
	}
	l, err := limiter.New(store, "ip", limiter.Per(plenty, workload.Window))
	return func() error {
		d, err := l.Allow(context.Background(), "192.0.2.1")
		if err != nil || !d.Allowed {
			return fmt.Errorf("allowed is %v (%w), want true", d.Allowed, err)
		}
		return nil
	}, err
}

// takeCached is a refusal that needs no call. It is cached for a second, so a few calls in many reach the map.
func takeCached() (operation, error) {
	store, err := kvstore.New(&mapped{counts: make(map[string]int64)}, kvstore.Config{Timeout: time.Minute})
	if err != nil {
		return nil, err
	}
	c := charge("ip", 1)
	if _, err := store.Take(context.Background(), []limiter.Charge{c}); err != nil {
		return nil, err
	}
	return taking(store, false, c), nil
}

// mapped is a key-value store in which nothing expires.
type mapped struct {
	mu     sync.Mutex
	counts map[string]int64
}

func (m *mapped) Get(_ context.Context, keys ...string) ([]int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	values := make([]int64, len(keys))
	for i, key := range keys {
		values[i] = m.counts[key]
	}
	return values, nil
}

func (m *mapped) Add(_ context.Context, key string, delta int64, _ time.Duration) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.counts[key]; !ok && delta < 0 {
		return 0, nil
	}
	m.counts[key] = max(0, m.counts[key]+delta)
	return m.counts[key], nil
}
