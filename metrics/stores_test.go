package metrics_test

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/kvstore"
	"github.com/httplimit/httplimit/limiter/memstore"
	"github.com/httplimit/httplimit/limiter/storekit"
	"github.com/httplimit/httplimit/metrics"
)

// TestStoreLabels: the Name of the store, else its type and a number, and no label twice.
func TestStoreLabels(t *testing.T) {
	named := func(name string) limiter.Store { return newMemory(t, memstore.Config{Name: name}) }
	one, kv := named(""), newKVStore(t, kvstore.Config{})
	for name, tt := range map[string]struct {
		stores []limiter.Store
		want   []string
	}{
		"the default":             {[]limiter.Store{nil, nil}, []string{"memstore-1", "memstore-2"}},
		"names":                   {[]limiter.Store{named("a"), named("b")}, []string{"a", "b"}},
		"one name":                {[]limiter.Store{named("a"), named("a"), named("a")}, []string{"a", "a-2", "a-3"}},
		"a name that looks like":  {[]limiter.Store{named("a"), named("a"), named("a-2")}, []string{"a", "a-3", "a-2"}},
		"one that looks numbered": {[]limiter.Store{nil, named("memstore-1")}, []string{"memstore-2", "memstore-1"}},
		"two kinds":               {[]limiter.Store{nil, kv}, []string{"memstore-1", "kvstore-1"}},
		"one store twice":         {[]limiter.Store{one, one}, []string{"memstore-1"}},
		"also in a wrapper":       {[]limiter.Store{storekit.WithTimeout(one, 0), one}, []string{"memstore-1"}},
		"in front of a fallback":  {[]limiter.Store{storekit.WithFallback(kv, one, 1), kv}, []string{"kvstore-1"}},
		"without Stats":           {[]limiter.Store{failing{}, nil}, []string{"memstore-1"}},
		"of no known type":        {[]limiter.Store{reporting{}}, []string{"metrics_test.reporting-1"}},
		"that cannot be compared": {
			[]limiter.Store{uncomparable{}, uncomparable{}},
			[]string{"metrics_test.uncomparable-1", "metrics_test.uncomparable-2"},
		},
		"that panics":              {[]limiter.Store{panicking{}}, []string{"metrics_test.panicking-1"}},
		"with a name that is none": {[]limiter.Store{named("\xff")}, []string{"?"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := metrics.New()
			for _, store := range tt.stores {
				newMiddleware(t, c, httplimit.Config{
					Store: store, Rules: []httplimit.Rule{byHeader("a", "X", limiter.PerDay(5))},
				})
			}
			var got []string
			for _, s := range c.Snapshot().Stores {
				got = append(got, s.Label)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

type reporting struct{ failing }

func (reporting) Stats() limiter.StoreStats { return limiter.StoreStats{} }

type uncomparable struct {
	reporting
	_ []int
}

type panicking struct{ failing }

func (panicking) Stats() limiter.StoreStats { panic("no stats today") }

// TestTwoMiddlewares with equal rules over two stores of one kind: decisions are added, gauges told once.
func TestTwoMiddlewares(t *testing.T) {
	c := metrics.New()
	for range 2 {
		h := newMiddleware(t, c, httplimit.Config{
			Namespace: "shop", Rules: []httplimit.Rule{byHeader("a", "X", limiter.PerDay(2))},
		}).Handler(http.HandlerFunc(ok))
		for range 3 {
			send(h, "X", "ann")
		}
	}
	s := c.Snapshot()
	checkDecisions(t, find(t, s, "shop", "a"), "allowed by store: 4", "refused by store: 2")
	if r := find(t, s, "shop", "a"); len(s.Rules) != 1 || len(r.Limits) != 1 || len(r.Policies) != 1 {
		t.Errorf("got %+v, want one rule with one limit and one policy", s.Rules)
	}
	if len(s.Stores) != 2 || s.Stores[0].Entries != 1 || s.Stores[1].Entries != 1 || !s.Stores[0].CountsHere() {
		t.Errorf("got %+v, want two stores with a counter each", s.Stores)
	}
}

// TestServersOfOneAddress are one: series have to be unique.
func TestServersOfOneAddress(t *testing.T) {
	c := metrics.New()
	newMiddleware(t, c, httplimit.Config{Store: twins{}, Rules: []httplimit.Rule{byHeader("a", "X", limiter.PerDay(5))}})
	servers := c.Snapshot().Stores[0].Servers
	want := limiter.ServerStats{
		Address: "cache:1", Calls: 7, Failed: 3, Callers: 9, Waiting: 2, FlightSizes: [9]uint64{5, 2},
	}
	if len(servers) != 2 || servers[0] != want || servers[1].Address != "other:1" {
		t.Errorf("got %+v, want the first two as one", servers)
	}
}

type twins struct{ failing }

func (twins) Stats() limiter.StoreStats {
	return limiter.StoreStats{Servers: []limiter.ServerStats{
		{Address: "cache:1", Healthy: true, Calls: 4, Failed: 1, Callers: 5, Waiting: 2, FlightSizes: [9]uint64{3, 1}},
		{Address: "cache:1", Calls: 3, Failed: 2, Callers: 4, FlightSizes: [9]uint64{2, 1}},
		{Address: "other:1"},
	}}
}

// newKVStore returns a store with a deny cache over a map.
func newKVStore(t *testing.T, cfg kvstore.Config) *kvstore.Store {
	t.Helper()
	store, err := kvstore.New(newMapKV(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// mapKV is a KV in a map, whose values never expire.
type mapKV struct {
	mu     sync.Mutex
	values map[string]int64
}

func newMapKV() *mapKV { return &mapKV{values: make(map[string]int64)} }

func (kv *mapKV) Get(_ context.Context, keys ...string) ([]int64, error) {
	kv.mu.Lock()
	defer kv.mu.Unlock()
	values := make([]int64, len(keys))
	for i, key := range keys {
		values[i] = kv.values[key]
	}
	return values, nil
}

func (kv *mapKV) Add(_ context.Context, key string, delta int64, _ time.Duration) (int64, error) {
	kv.mu.Lock()
	defer kv.mu.Unlock()
	if _, exists := kv.values[key]; !exists && delta < 0 {
		return 0, nil
	}
	kv.values[key] = max(0, kv.values[key]+delta)
	return kv.values[key], nil
}
