package memstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
)

// live is what a store must not forget: until when each key, and each entry of a log, weighs on decisions.
type live struct {
	log   bool
	until map[string][]int64
	at    int64
	n     int // entries of until after at
}

func (v *live) count(now int64) int {
	if now == v.at {
		return v.n
	}
	v.at, v.n = now, 0
	for key, times := range v.until {
		v.until[key] = slices.DeleteFunc(times, func(until int64) bool { return until <= now })
		v.n += len(v.until[key])
	}
	return v.n
}

func (v *live) spent(c *limiter.Charge) {
	v.count(c.At)
	until, times := c.At+c.ResetAfter.Milliseconds(), v.until[c.Key]
	v.n -= len(times)
	if !v.log || len(times) > 0 && times[len(times)-1] == until {
		times = times[:0]
	}
	v.until[c.Key] = append(times, until)
	v.n += len(v.until[c.Key])
}

// TestNoLiveKeyForgottenBelowMaxKeys compares a store that is always close to full with one that never is. New keys
// come only while there is room for one more live one, so the small store has to find every expired one for it.
func TestNoLiveKeyForgottenBelowMaxKeys(t *testing.T) {
	const most = 200
	for _, algorithm := range algorithms {
		t.Run(algorithm.String(), func(t *testing.T) {
			t.Parallel()
			small, large := newStore(t, most), newStore(t, 0)
			advanceSmall, advanceLarge := memstore.StopClock(small), memstore.StopClock(large)
			align(t, small, large, advanceSmall, advanceLarge)
			random := rand.New(rand.NewPCG(5, 6))
			seen := live{log: algorithm == limiter.SlidingLog, until: map[string][]int64{}}
			var now int64
			for step := range 6_000 {
				if random.IntN(3) == 0 {
					d := time.Duration(random.IntN(30)) * time.Millisecond
					advanceSmall(d)
					advanceLarge(d)
				}
				l := limiter.Limit{Requests: 3, Window: time.Second << random.IntN(2), Algorithm: algorithm}
				key := fmt.Sprint(l.Window, random.IntN(4*most))
				if seen.count(now) >= most-1 { // one more entry may come with the step that this charge makes
					advanceSmall(10 * time.Millisecond)
					advanceLarge(10 * time.Millisecond)
					now += 10
					continue
				}
				got, want := spend(t, small, key, l, 1), spend(t, large, key, l, 1)
				if got.Decision != want.Decision {
					t.Fatalf("step %d, key %q, %d live: got %+v, want %+v",
						step, key, seen.count(want.At), got.Decision, want.Decision)
				}
				now = want.At
				if want.Allowed {
					seen.spent(&want)
				}
			}
			if stats := small.Stats(); stats.Evicted != 0 || stats.Overflowed != 0 || stats.Entries > most {
				t.Errorf("got %+v, want no eviction, nothing in the sketch, and at most %d keys", stats, most)
			}
		})
	}
}

// TestBatchFindsExpired: a batch of newcomers takes the place of as many expired counters where those are a tenth of
// all, wherever they are.
func TestBatchFindsExpired(t *testing.T) {
	const most = 10_000
	store := newStore(t, most)
	advance := memstore.StopClock(store)
	// No window boundary of it comes in between.
	l := limiter.Limit{Requests: 1, Window: 366 * 24 * time.Hour, Algorithm: limiter.FixedWindow}
	for i := range most / 10 {
		spend(t, store, fmt.Sprint("expires ", i), limiter.PerSecond(1), 1)
	}
	for i := range most - most/10 {
		spend(t, store, fmt.Sprint(i), l, 1)
	}
	advance(2 * time.Second)
	var batch []limiter.Charge
	for i := range 20 {
		batch = append(batch, one(fmt.Sprint("newcomer ", i), limiter.PerDay(1), 1)[0])
	}
	if taken, err := store.Take(context.Background(), batch); !taken || err != nil {
		t.Fatalf("got %v, %v, want the batch taken", taken, err)
	}
	if stats := store.Stats(); stats.Evicted != 0 || stats.Overflowed != 0 || stats.Entries > most {
		t.Errorf("got %+v, want at most %d keys, none evicted and none in the sketch", stats, most)
	}
}

// TestLargeBatchesEvictNobodyBelowTheBound: a batch that locks most of the stripes still finds the idle counters in
// them.
func TestLargeBatchesEvictNobodyBelowTheBound(t *testing.T) {
	const most = 512
	long := limiter.Limit{Requests: 10, Window: 10 * time.Hour, Algorithm: limiter.FixedWindow}
	short := limiter.Limit{Requests: 10, Window: 300 * time.Millisecond, Algorithm: limiter.FixedWindow}
	for size, live := range map[int]int{1: most * 84 / 100, 24: most * 84 / 100, 100: most * 65 / 100} {
		store := newStore(t, most)
		advance := memstore.StopClock(store)
		for i := range live {
			spend(t, store, fmt.Sprint("live ", i), long, 5)
		}
		for round := range 100 {
			for i := 0; store.Stats().Entries < most; i++ {
				spend(t, store, fmt.Sprint("idle ", round, " ", i), short, 1)
			}
			advance(short.Window)
			var batch []limiter.Charge
			for i := range size {
				batch = append(batch, one(fmt.Sprint("newcomer ", round, " ", i), short, 1)[0])
			}
			if taken, err := store.Take(context.Background(), batch); !taken || err != nil {
				t.Fatalf("batches of %d: got %v, %v, want them taken", size, taken, err)
			}
		}
		if stats := store.Stats(); stats.Evicted != 0 || stats.Overflowed != 0 {
			t.Errorf("batches of %d: got %+v, want none evicted and none in the sketch", size, stats)
		}
	}
}

// TestFloodForgetsLeastUsedFirst: a key that has used much of its limit stays, one that has hardly begun may go.
func TestFloodForgetsLeastUsedFirst(t *testing.T) {
	// So many that every stripe has keys which have hardly begun among any eight in a row.
	const most, flood = 16_384, 80_000
	for _, algorithm := range algorithms {
		t.Run(algorithm.String(), func(t *testing.T) {
			t.Parallel()
			store := newStore(t, most)
			advance := memstore.StopClock(store)
			l := limiter.Limit{Requests: 100, Window: 24 * time.Hour, Algorithm: algorithm}
			for i := range 100 {
				spend(t, store, fmt.Sprint("at limit ", i), l, 100)
				for range 12 {
					spend(t, store, fmt.Sprint("busy ", i), l, 5)
				}
			}
			for i := range flood {
				spend(t, store, fmt.Sprint("flood ", i), l, 1)
				if i%4096 == 0 {
					advance(time.Second)
				}
			}
			freed, forgotten := 0, 0
			for i := range 100 {
				if spend(t, store, fmt.Sprint("at limit ", i), l, 100).Allowed {
					freed++
				}
				if spend(t, store, fmt.Sprint("busy ", i), l, 0).Current < 50 {
					forgotten++
				}
			}
			if freed > 0 || forgotten > 0 {
				t.Errorf("after a flood of %d keys into %d: got %d of 100 freed from their limit, "+
					"%d of 100 busy keys forgotten, want 0", flood, most, freed, forgotten)
			}
			if stats := store.Stats(); stats.Entries > most || stats.Evicted == 0 || stats.Overflowed > 0 {
				t.Errorf("got %+v, want at most %d keys, some evicted, none in the sketch", stats, most)
			}
		})
	}
}

// TestNewcomersToAnEmptyStripe: where a full store has nothing in the stripe of a newcomer, another stripe makes space.
func TestNewcomersToAnEmptyStripe(t *testing.T) {
	const most = 32 // two stripes
	store := newStore(t, most)
	l := limiter.Limit{Requests: 10, Window: 24 * time.Hour}
	for i := 0; store.Stats().Entries < most; i++ {
		if key := fmt.Sprint("early ", i); memstore.StripeOf(store, "scope", key) == 0 {
			spend(t, store, key, l, 1)
		}
	}
	for i := range 1000 {
		if key := fmt.Sprint("late ", i); memstore.StripeOf(store, "scope", key) == 1 {
			spend(t, store, key, l, 1)
		}
	}
	if stats := store.Stats(); stats.Entries > most || stats.Evicted == 0 || stats.Overflowed > 0 {
		t.Errorf("got %+v, want at most %d keys, some evicted, none in the sketch", stats, most)
	}
}

// TestFloodOfLimitedKeysFreesNobody: where every key of a flood is at its limit, nobody leaves, and newcomers are
// counted in the sketch: never more than the limit is let in, whatever the algorithm.
func TestFloodOfLimitedKeysFreesNobody(t *testing.T) {
	const most, keys = 256, 2000
	for _, algorithm := range algorithms {
		for _, burst := range []int64{0, 3, 30} {
			if burst > 0 && algorithm != limiter.TokenBucket {
				continue
			}
			t.Run(fmt.Sprintf("%v/burst=%d", algorithm, burst), func(t *testing.T) {
				t.Parallel()
				small, exact := newStore(t, most), newStore(t, 0)
				advanceSmall, advanceExact := memstore.StopClock(small), memstore.StopClock(exact)
				align(t, small, exact, advanceSmall, advanceExact)
				random := rand.New(rand.NewPCG(7, 8))
				l := limiter.Limit{Requests: 10, Window: time.Minute, Algorithm: algorithm, Burst: burst}
				for range 40_000 {
					// Always all of the limit at once, so nobody in the store is ever below it.
					key := fmt.Sprint(random.IntN(keys))
					if !spend(t, small, key, l, l.Capacity()).Allowed {
						continue
					}
					if !spend(t, exact, key, l, l.Capacity()).Allowed {
						t.Fatalf("key %s was let in beyond its limit of %v", key, l)
					}
					d := time.Duration(random.IntN(20)) * time.Millisecond
					advanceSmall(d)
					advanceExact(d)
				}
				if stats := small.Stats(); stats.Entries > most || stats.Overflowed == 0 {
					t.Errorf("got %+v, want at most %d keys and some in the sketch", stats, most)
				}
			})
		}
	}
}

// TestSketchForgets: what a flood left in the sketch refuses nobody once two windows have passed.
func TestSketchForgets(t *testing.T) {
	for _, algorithm := range algorithms {
		t.Run(algorithm.String(), func(t *testing.T) {
			t.Parallel()
			store := newStore(t, 16)
			advance := memstore.StopClock(store)
			l := limiter.Limit{Requests: 1, Window: time.Minute, Algorithm: algorithm}
			for i := range 10_000 {
				spend(t, store, fmt.Sprint(i), l, 1)
			}
			if store.Stats().Overflowed == 0 {
				t.Fatal("nothing went into the sketch")
			}
			advance(2 * time.Minute)
			for i := range 16 {
				if c := spend(t, store, fmt.Sprint("newcomer ", i), l, 1); !c.Allowed {
					t.Errorf("newcomer %d, two windows after the flood: got %+v, want it allowed", i, c.Decision)
				}
			}
		})
	}
}

// TestRefundToSketchFreesNobody: units in the sketch may be another key's.
func TestRefundToSketchFreesNobody(t *testing.T) {
	store := newStore(t, 1)
	memstore.StopClock(store)
	l := limiter.PerHour(10)
	spend(t, store, "stays", l, 10)
	spend(t, store, "newcomer", l, 10)
	spend(t, store, "newcomer", l, -10)
	if c := spend(t, store, "newcomer", l, 1); c.Allowed {
		t.Errorf("after a refund to the sketch: got %+v, want it refused", c.Decision)
	}
}

// TestLogWithoutRoomForEntries: a log that gets no entry for each of its moments lets its units go later, not sooner.
func TestLogWithoutRoomForEntries(t *testing.T) {
	store, exact := newStore(t, 1), newStore(t, 0)
	advanceStore, advanceExact := memstore.StopClock(store), memstore.StopClock(exact)
	align(t, store, exact, advanceStore, advanceExact)
	l := limiter.Limit{Requests: 10, Window: time.Second, Algorithm: limiter.SlidingLog}
	allowed := 0
	for range 1000 {
		if spend(t, store, "key", l, 1).Allowed {
			allowed++
			if c := spend(t, exact, "key", l, 1); !c.Allowed {
				t.Fatalf("after %d: let in beyond the limit of %v", allowed, l)
			}
		}
		advanceStore(70 * time.Millisecond)
		advanceExact(70 * time.Millisecond)
	}
	if allowed < 300 {
		t.Errorf("got %d of 1000 let in in 70 s at %v, want 300 at least", allowed, l)
	}
}
