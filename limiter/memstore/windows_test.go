package memstore_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
)

// TestWindowTagsNeverReturn: window numbers are kept modulo 256. A count must not come back to life when as many
// windows have passed, however much or little went on beside it.
func TestWindowTagsNeverReturn(t *testing.T) {
	for _, algorithm := range []limiter.Algorithm{limiter.SlidingWindow, limiter.FixedWindow} {
		for _, windows := range []int{
			2, 127, 128, 129, 130, 250, 251, 252, 253, 254, 255, 256, 257, 258, 384, 512, 1023, 1024, 1025, 1 << 16,
		} {
			for _, step := range []int{1, 100, 127, 128, 129, 256, 1 << 16} {
				if windows/step > 2000 {
					continue
				}
				t.Run(fmt.Sprintf("%v/windows=%d/step=%d", algorithm, windows, step), func(t *testing.T) {
					store := newStore(t, 16) // one stripe, so that the neighbour is one
					advance := memstore.StopClock(store)
					l := limiter.Limit{Requests: 5, Window: time.Millisecond, Algorithm: algorithm}
					spend(t, store, "key", l, 5)
					for passed := 0; passed < windows; {
						next := min(step, windows-passed)
						passed += next
						advance(time.Duration(next) * l.Window)
						spend(t, store, "neighbour", l, 0)
					}
					if c := spend(t, store, "key", l, 0); c.Current != 0 || c.Previous != 0 {
						t.Errorf("after %d windows: got %+v, want nothing left", windows, c.State)
					}
				})
			}
		}
	}
}

// TestManyWindows: a store counts 64 pairs of Algorithm and Window at a time. Those that hold nothing make space for
// others; until then there is an error, and no count is lost or mixed up.
func TestManyWindows(t *testing.T) {
	store := newStore(t, 0)
	advance := memstore.StopClock(store)
	limits := make([]limiter.Limit, 100)
	for i := range limits {
		limits[i] = limiter.Per(5, time.Duration(i+1)*time.Second)
	}
	for i, l := range limits[:64] {
		if c := spend(t, store, "key", l, int64(1+i%5)); !c.Allowed {
			t.Fatalf("%v: got %+v, want it allowed", l, c.Decision)
		}
	}
	_, err := store.Take(context.Background(), one("key", limits[64], 1)[:])
	if err == nil || !strings.HasPrefix(err.Error(), "memstore: 64 pairs of Algorithm and Window are in use") {
		t.Errorf("a 65th window: got error %v, want one that says so", err)
	}
	for i, l := range limits[:64] {
		if c := spend(t, store, "key", l, 0); c.Current != int64(1+i%5) && l.Window > time.Second {
			t.Errorf("%v: got %d units, want %d", l, c.Current, 1+i%5)
		}
	}
	advance(129 * time.Second)
	for _, l := range limits[64:] {
		if c := spend(t, store, "key", l, 1); c.Current != 0 {
			t.Errorf("%v: got %d units before the first, want none", l, c.Current)
		}
	}
}

// TestTablesDroppedUnderLoad: a caller that has looked up a table which is dropped before the stripe's lock is free
// must look again, or counts would go into a table that nobody finds, or into another one.
func TestTablesDroppedUnderLoad(t *testing.T) {
	const callers, windows, limit = 8, 66, 3
	store := newStore(t, 0)
	advance := memstore.StopClock(store)
	type window struct{ length, number int64 }
	var mu sync.Mutex
	allowed := map[window]int{}
	var done sync.WaitGroup
	for caller := range callers {
		done.Go(func() {
			for i := range 4000 {
				length := int64(100 + (i*7+caller%2)%windows)
				l := limiter.Limit{
					Requests: limit, Window: time.Duration(length) * time.Millisecond, Algorithm: limiter.FixedWindow,
				}
				c := one("key", l, 1)
				taken, err := store.Take(context.Background(), c[:])
				if err == nil && taken {
					mu.Lock()
					allowed[window{length, c[0].At / length}]++
					mu.Unlock()
				}
				if i%5 == 0 {
					advance(20 * time.Millisecond)
				}
			}
		})
	}
	done.Wait()
	for w, n := range allowed {
		if n > limit {
			t.Errorf("window %d of %d ms: got %d let in, want at most %d", w.number, w.length, n, limit)
		}
	}
}
