package memstore_test

import (
	"fmt"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
)

// heap is what the garbage collector finds in use.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// mostBytes is the bound that the package documents: of a full hash table as sparse as it may be, the entries of
// logs, the sketches, and what a store has whatever it holds.
func mostBytes(algorithm limiter.Algorithm, maxKeys int64) int64 {
	slot := int64(16)
	switch algorithm {
	case limiter.TokenBucket, limiter.SlidingLog:
		slot = 24
	case limiter.StrictWindow:
		slot = 56
	}
	bytes := maxKeys * slot * 32 / 7
	if algorithm == limiter.SlidingLog {
		bytes += maxKeys * 16 * 2
	}
	return bytes + 16*maxKeys + 512<<10
}

// TestHeapOfTwoMillionClients floods a small store. Its heap stays inside the bound, and limited clients stay limited,
// whether the keys of the flood have hardly begun or are at their limits too. Two million come only without the race
// detector, as nothing here is concurrent.
func TestHeapOfTwoMillionClients(t *testing.T) {
	const most = 1 << 14
	for _, algorithm := range algorithms {
		for _, cost := range []int64{1, 10} {
			clients := floodClients
			if algorithm == limiter.SlidingWindow && cost == 1 && !raceDetector {
				clients = 2_000_000
			}
			t.Run(fmt.Sprintf("%v/cost=%d/clients=%d", algorithm, cost, clients), func(t *testing.T) {
				before := heap()
				store := newStore(t, most)
				memstore.StopClock(store)
				l := limiter.Limit{Requests: 10, Window: time.Hour, Algorithm: algorithm}
				for i := range 100 {
					spend(t, store, "limited "+strconv.Itoa(i), l, 10)
				}
				flood(t, store, l, clients, cost)
				if grown := heap() - before; grown > mostBytes(algorithm, most) {
					t.Errorf("got %d bytes of heap for %d keys, want at most %d",
						grown, most, mostBytes(algorithm, most))
				}
				for i := range 100 {
					if c := spend(t, store, "limited "+strconv.Itoa(i), l, 1); c.Allowed {
						t.Errorf("client %d, limited before the flood: got %+v, want it refused", i, c.Decision)
					}
				}
				runtime.KeepAlive(store)
			})
		}
	}
}

func flood(t *testing.T, store limiter.Store, l limiter.Limit, clients int, cost int64) {
	t.Helper()
	c := one("", l, cost)
	for i := range clients {
		c[0].Key = strconv.Itoa(i)
		if _, err := store.Take(t.Context(), c[:]); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHeapPerClient: what a million clients cost, the figures in the README.
func TestHeapPerClient(t *testing.T) {
	if raceDetector {
		t.Skip("slow under the race detector, and nothing here is concurrent")
	}
	const clients = 1_000_000
	for algorithm, most := range map[limiter.Algorithm]float64{limiter.SlidingWindow: 36, limiter.StrictWindow: 96} {
		t.Run(algorithm.String(), func(t *testing.T) {
			before := heap()
			store := newStore(t, 0)
			memstore.StopClock(store)
			flood(t, store, limiter.Limit{Requests: 100, Window: time.Hour, Algorithm: algorithm}, clients, 1)
			perClient := float64(heap()-before) / clients
			t.Logf("%.1f bytes a client", perClient)
			if perClient > most {
				t.Errorf("got %.1f bytes a client, want at most %.0f", perClient, most)
			}
			runtime.KeepAlive(store)
		})
	}
}

// TestHeapFallsAfterExpiry: what a flood took is given back by the operations that come later, few as they are.
func TestHeapFallsAfterExpiry(t *testing.T) {
	const clients = floodClients
	for _, algorithm := range algorithms {
		t.Run(algorithm.String(), func(t *testing.T) {
			before := heap()
			store := newStore(t, 0)
			advance := memstore.StopClock(store)
			l := limiter.Limit{Requests: 100, Window: time.Second, Algorithm: algorithm}
			flood(t, store, l, clients, 100)
			full := heap() - before
			advance(3 * time.Second)
			flood(t, store, l, 10_000, 1)
			if left := heap() - before; left > full/4 {
				t.Errorf("10,000 operations after %d clients expired: got %d bytes, want at most a quarter of %d",
					clients, left, full)
			}
			if keys := store.Stats().Entries; keys > 10_000 {
				t.Errorf("got %d keys, want at most 10,000", keys)
			}
			runtime.KeepAlive(store)
		})
	}
}

// TestHeapFallsWithFewClients: also where nobody asks for most of the stripes any more, and the windows of those who ask
// are long.
func TestHeapFallsWithFewClients(t *testing.T) {
	for _, algorithm := range algorithms {
		t.Run(algorithm.String(), func(t *testing.T) {
			before := heap()
			store := newStore(t, 0)
			advance := memstore.StopClock(store)
			expired := limiter.Limit{Requests: 100, Window: time.Second, Algorithm: algorithm}
			flood(t, store, expired, floodClients, 100)
			full := heap() - before
			active := limiter.Limit{Requests: 100, Window: time.Hour, Algorithm: algorithm}
			for range 60 {
				advance(time.Second)
				flood(t, store, active, 10, 1)
			}
			if left := heap() - before; left > full/10 {
				t.Errorf("a minute of 10 clients after %d others: got %d bytes, want at most a tenth of %d",
					floodClients, left, full)
			}
			if keys := store.Stats().Entries; keys > 600 { // a log has an entry for each second
				t.Errorf("got %d keys, want at most 600", keys)
			}
			runtime.KeepAlive(store)
		})
	}
}
