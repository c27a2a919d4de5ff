package memstore_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
)

// TestWindowBoundaryUnderLoad moves the clock through many windows while 64 goroutines spend one key. A goroutine that
// read the clock before a boundary, and gets the lock after others have passed it, must neither lose their counts nor
// bring back old ones.
func TestWindowBoundaryUnderLoad(t *testing.T) {
	const callers, windows, limit, callsEach = 64, 300, 50, 100 // calls in each millisecond
	store := newStore(t, 0)
	advance := memstore.StopClock(store)
	l := limiter.Limit{Requests: limit, Window: 10 * time.Millisecond, Algorithm: limiter.FixedWindow}
	first := spend(t, store, "other", l, 0).At / 10

	var allowed [windows + 2]atomic.Int64
	var calls atomic.Int64
	var done sync.WaitGroup
	for range callers {
		done.Go(func() {
			c := one("key", l, 1)
			for n := calls.Add(1); n < windows*10*callsEach; n = calls.Add(1) {
				taken, err := store.Take(context.Background(), c[:])
				if err != nil {
					t.Error(err)
					return
				}
				if taken {
					allowed[c[0].At/10-first].Add(1)
				}
				if n%callsEach == 0 {
					advance(time.Millisecond)
				}
			}
		})
	}
	done.Wait()
	for i := range allowed[1:windows] {
		if n := allowed[1+i].Load(); n != limit {
			t.Errorf("window %d of some %d calls: got %d let in, want %d", 1+i, 10*callsEach, n, limit)
		}
	}
}

// TestBatchesInOppositeOrder: batches over the same keys in any order neither block one another nor spend in part.
func TestBatchesInOppositeOrder(t *testing.T) {
	const callers, limit = 16, 500
	store := newStore(t, 0)
	memstore.StopClock(store)
	keys := []string{"a", "b", "c", "d", "e", "f", "g"}
	var taken atomic.Int64
	var done sync.WaitGroup
	for caller := range callers {
		done.Go(func() {
			var charges []limiter.Charge
			for i := range keys {
				key := keys[i]
				if caller%2 == 0 {
					key = keys[len(keys)-1-i]
				}
				charges = append(charges, limiter.Charge{Key: key, Limit: limiter.PerHour(limit), Cost: 1})
			}
			for range 100 {
				ok, err := store.Take(context.Background(), charges)
				if err != nil {
					t.Error(err)
				}
				if ok {
					taken.Add(1)
				}
			}
		})
	}
	done.Wait()
	if got := taken.Load(); got != limit {
		t.Errorf("got %d batches taken, want %d", got, limit)
	}
	for _, key := range keys {
		c := one(key, limiter.PerHour(limit), 0)
		c[0].Scope = ""
		take(t, store, true, c)
		if c[0].Current != limit {
			t.Errorf("key %s: got %d units, want %d", key, c[0].Current, limit)
		}
	}
}

// TestFullStoreUnderLoad: many goroutines making space for one another keep the bound.
func TestFullStoreUnderLoad(t *testing.T) {
	const most = 500
	store := newStore(t, most)
	advance := memstore.StopClock(store)
	var done sync.WaitGroup
	for caller := range 16 {
		done.Go(func() {
			for i := range 2000 {
				l := limiter.Limit{Requests: 5, Window: 20 * time.Millisecond, Algorithm: algorithms[i%len(algorithms)]}
				charges := []limiter.Charge{
					{Key: "hot", Limit: l, Cost: 1, Mode: limiter.Shadow},
					{Key: string(rune(i*16 + caller)), Limit: l, Cost: int64(1 + i%5)},
				}
				if _, err := store.Take(context.Background(), charges); err != nil {
					t.Error(err)
				}
				if keys := store.Stats().Entries; keys > most {
					t.Errorf("got %d keys, want at most %d", keys, most)
				}
				if i%50 == 0 {
					advance(time.Millisecond)
				}
			}
		})
	}
	done.Wait()
	if keys := store.Stats().Entries; keys > most {
		t.Errorf("got %d keys, want at most %d", keys, most)
	}
}
