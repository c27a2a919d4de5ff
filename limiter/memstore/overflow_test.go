package memstore_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
)

// TestNewcomersToStoreOfLimitedKeys: a store is full of keys at their limit, and more such keys come, as many as a part
// of MaxKeys. None of them gets more than its limit, and most new clients are still let in.
func TestNewcomersToStoreOfLimitedKeys(t *testing.T) {
	const limit, newcomers = 5, 4000
	most := 1 << 16
	if raceDetector {
		most = 1 << 13
	}
	for _, algorithm := range algorithms {
		for _, test := range []struct{ beyond, refused int }{{25, 10}, {100, 50}} { // in percent
			t.Run(fmt.Sprintf("%v/beyond=%d%%", algorithm, test.beyond), func(t *testing.T) {
				t.Parallel()
				store := newStore(t, most)
				memstore.StopClock(store)
				l := limiter.Limit{Requests: limit, Window: time.Hour, Algorithm: algorithm}
				freed, sooner := 0, 0
				for i := range most + most*test.beyond/100 {
					c, allowed := one(fmt.Sprint("limited ", i), l, 1), 0
					for range limit + 1 {
						taken, err := store.Take(t.Context(), c[:])
						if err != nil {
							t.Fatal(err)
						}
						if taken {
							allowed++
						}
					}
					if allowed > limit {
						freed++
					}
					if allowed < limit && i < most {
						sooner++
					}
				}
				if freed > 0 || sooner > 0 {
					t.Errorf("got %d let in beyond their limit and %d with a slot refused sooner, want none", freed, sooner)
				}
				refused := 0
				for i := range newcomers {
					if !spend(t, store, fmt.Sprint("newcomer ", i), l, 1).Allowed {
						refused++
					}
				}
				t.Logf("%.1f %% of new clients refused", float64(100*refused)/newcomers)
				if 100*refused > test.refused*newcomers {
					t.Errorf("got %d of %d new clients refused, want at most %d %%", refused, newcomers, test.refused)
				}
			})
		}
	}
}

// TestSketchesFreeNobody: limits of all algorithms and several windows overflow in turn, so that their sketches come,
// go, and take cells from one another, and nobody is let in beyond its limit.
func TestSketchesFreeNobody(t *testing.T) {
	const most, keys, phases = 256, 300, 40
	small, exact := newStore(t, most), newStore(t, 0)
	advanceSmall, advanceExact := memstore.StopClock(small), memstore.StopClock(exact)
	align(t, small, exact, advanceSmall, advanceExact)
	random := rand.New(rand.NewPCG(9, 10))
	var limits []limiter.Limit
	for _, algorithm := range algorithms {
		for _, window := range []time.Duration{time.Second, 5 * time.Second, time.Minute} {
			limits = append(limits, limiter.Limit{Requests: 10, Window: window, Algorithm: algorithm})
		}
	}
	allowed := 0
	for range phases {
		random.Shuffle(len(limits), func(i, j int) { limits[i], limits[j] = limits[j], limits[i] })
		used := limits[:1+random.IntN(len(limits))]
		for range 2000 {
			key, l := fmt.Sprint(random.IntN(keys)), used[random.IntN(len(used))]
			// Always all of the limit at once, so nobody in the store is ever below it.
			if spend(t, small, key, l, l.Capacity()).Allowed {
				allowed++
				if !spend(t, exact, key, l, l.Capacity()).Allowed {
					t.Fatalf("key %s was let in beyond its limit of %v", key, l)
				}
			}
			d := time.Duration(random.IntN(5)) * time.Millisecond
			advanceSmall(d)
			advanceExact(d)
		}
	}
	if stats := small.Stats(); stats.Overflowed == 0 || allowed < 1000 {
		t.Errorf("got %+v and %d let in, want some in sketches, and 1000 let in", stats, allowed)
	}
}

// TestOneSketchOfTen: of ten limits that have newcomers in a full store, one has nearly all of them. It gets most of
// the cells that the others do not need, whether it comes first or last, and the others are not refused for it.
func TestOneSketchOfTen(t *testing.T) {
	const most, limit, few = 1 << 16, 5, 512 // 2 in each stripe
	crowded := limiter.PerHour(limit)
	refused := func(store limiter.Store, l limiter.Limit, clients string, n int) (percent int) {
		for i := range n {
			if !spend(t, store, fmt.Sprint(clients, i), l, limit).Allowed {
				percent++
			}
		}
		return 100 * percent / n
	}
	for name, test := range map[string]struct{ before, after, refused int }{ // keys of crowded beyond most
		"first":          {most / 4, 0, 30},
		"last":           {0, most / 4, 30},
		"first and huge": {2 * most, 0, 100},
		"last and huge":  {0, 2 * most, 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := newStore(t, most)
			memstore.StopClock(store)
			refused(store, crowded, "limited ", most+test.before)
			for round := range 2 {
				for i := range 9 {
					l := limiter.Per(limit, time.Duration(2+i)*time.Hour)
					got := refused(store, l, fmt.Sprint("few ", round), few/2)
					if got > 10 {
						t.Errorf("%v, which has few newcomers: got %d %% of them refused, want at most 10", l, got)
					}
				}
				if round == 0 && test.after > 0 {
					refused(store, crowded, "beyond ", test.after)
				}
			}
			got := refused(store, crowded, "newcomer ", 2000)
			t.Logf("%d %% refused", got)
			if got > test.refused {
				t.Errorf("the crowded limit: got %d %% of its newcomers refused, want at most %d", got, test.refused)
			}
		})
	}
}

// TestHeapOfSketches: beside its slots a store holds 16 bytes for each of MaxKeys, however many limits overflow;
// nothing before the first does; and nothing any more when all have expired, although newcomers still come.
func TestHeapOfSketches(t *testing.T) {
	const most, each = 1 << 16, 16
	store := newStore(t, most)
	advance := memstore.StopClock(store)
	limits := make([]limiter.Limit, 10)
	for i := range limits {
		limits[i] = limiter.Per(1, time.Duration(10+i)*time.Second)
		flood(t, store, limits[i], 10_000, 0) // so that every stripe knows it
	}
	empty := heap()
	flood(t, store, limits[0], most, 1)
	full := heap()
	for i, l := range limits {
		flood(t, store, l, 2*most>>i+1000, 1)
		// The allocator rounds up by an eighth at most, and a sketch has 80 bytes beside its cells.
		if got, want := heap()-full, int64(each*most*9/8+80*256*(1+i)); got > want {
			t.Errorf("%d limits have newcomers: got %d bytes for them, want at most %d", 1+i, got, want)
		}
	}
	if got, want := heap()-full, int64(each*most*3/4); got < want {
		t.Errorf("got %d bytes for newcomers, want at least %d, or this tests nothing", got, want)
	}
	for i := range 100 {
		advance(time.Second)
		for _, l := range limits {
			flood(t, store, l, 1+100*(i%2), 0)
		}
	}
	for _, l := range limits {
		flood(t, store, l, 10_000, 0)
	}
	if got := heap() - empty; got > each*most/8 {
		t.Errorf("after all has expired: got %d bytes, want at most %d", got, each*most/8)
	}
	runtime.KeepAlive(store)
}

// TestStats: the figures by which an operator sees that a store is too small.
func TestStats(t *testing.T) {
	store := newStore(t, 1)
	memstore.StopClock(store)
	l := limiter.PerHour(2)
	peek := one("sketched", l, 1)
	peek[0].Mode = limiter.Peek
	for _, step := range []struct {
		name                string
		take                func()
		evicted, overflowed uint64
	}{
		{"a key with a slot", func() { spend(t, store, "forgotten", l, 1) }, 0, 0},
		{"its slot taken by another", func() { spend(t, store, "stays", l, 2) }, 1, 0},
		{"a refusal by a slot", func() { spend(t, store, "stays", l, 1) }, 1, 0},
		{"a newcomer that asks only", func() { spend(t, store, "sketched", l, 0) }, 1, 0},
		{"a newcomer in the sketch", func() { spend(t, store, "sketched", l, 1) }, 1, 1},
		{"in the sketch once more", func() { spend(t, store, "sketched", l, 1) }, 1, 2},
		{"a refusal by the sketch", func() { spend(t, store, "sketched", l, 1) }, 1, 3},
		{"a look at the sketch", func() { take(t, store, true, peek) }, 1, 4},
	} {
		step.take()
		got := store.Stats()
		if got.Entries != 1 || got.Capacity != 1 || got.Evicted != step.evicted || got.Overflowed != step.overflowed {
			t.Errorf("after %s: got %+v, want 1 entry of 1, %d evicted, %d overflowed",
				step.name, got, step.evicted, step.overflowed)
		}
	}
}
