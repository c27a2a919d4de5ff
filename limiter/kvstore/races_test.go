package kvstore_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/kvstore"
)

// distant is a KV whose calls take a while both ways, so that many are under way at once. In a synctest bubble
// that costs no time.
func distant(kv kvstore.KV) hooked {
	lag := func() { time.Sleep(time.Duration(rand.Int64N(int64(3 * time.Millisecond)))) }
	return hooked{
		KV:  slowAnswer{kv, lag},
		get: func(context.Context, []string) error { lag(); return nil },
		add: func(context.Context, string, int64) error { lag(); return nil },
	}
}

type slowAnswer struct {
	kvstore.KV
	lag func()
}

func (kv slowAnswer) Get(ctx context.Context, keys ...string) ([]int64, error) {
	defer kv.lag()
	return kv.KV.Get(ctx, keys...)
}

func (kv slowAnswer) Add(ctx context.Context, key string, delta int64, ttl time.Duration) (int64, error) {
	defer kv.lag()
	return kv.KV.Add(ctx, key, delta, ttl)
}

// tally is what was let in, by window, and when last.
type tally struct {
	limit   limiter.Limit
	windows int

	mu     sync.Mutex
	spent  map[int64]int64
	latest map[int64]int64
}

func (y *tally) count(c *limiter.Charge) {
	y.mu.Lock()
	defer y.mu.Unlock()
	number := c.At / y.limit.WindowMillis()
	y.spent[number] += c.Cost
	y.latest[number] = max(y.latest[number], c.At)
}

// check fails if a window holds more than its limit allows at the moment of its last charge, or on average less
// than least units.
func (y *tally) check(t *testing.T, least float64) {
	t.Helper()
	sum, window := int64(0), y.limit.WindowMillis()
	for number, spent := range y.spent {
		sum += spent
		weighted := int64(0)
		if y.limit.Algorithm == limiter.SlidingWindow {
			weighted = y.spent[number-1] * ((number+1)*window - y.latest[number]) / window
		}
		if weighted+spent > y.limit.Requests {
			t.Errorf("window %d: let in %d on top of a weight of %d, want at most %d together", number, spent, weighted, y.limit.Requests)
		}
	}
	if average := float64(sum) / float64(y.windows); average < least {
		t.Errorf("let in %.2f units a window of %d, want at least %.2f", average, y.limit.Requests, least)
	}
}

// hammer lets 64 callers ask again and again over the stores in turn, for so many windows.
func hammer(t *testing.T, stores []*kvstore.Store, limit limiter.Limit, cost func() int64, pause time.Duration, windows int) *tally {
	const callers = 64
	y := &tally{limit: limit, windows: windows, spent: map[int64]int64{}, latest: map[int64]int64{}}
	end := time.Now().Add(time.Duration(windows) * limit.Window)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for time.Now().Before(end) {
				charges := []limiter.Charge{{Scope: "s", Key: "k", Limit: limit, Cost: cost()}}
				taken, err := stores[i%len(stores)].Take(context.Background(), charges)
				switch {
				case err != nil:
					t.Error(err)
					return
				case taken:
					y.count(&charges[0])
				}
				time.Sleep(pause)
			}
		})
	}
	wg.Wait()
	return y
}

func one() int64 { return 1 }

func oneToThree() int64 { return 1 + rand.Int64N(3) }

// A naive reserve-first design lets in half a unit a window here: the limit is always exceeded by those who are
// about to give back.
func TestManyCallersOfALowLimit(t *testing.T) {
	const window = 250 * time.Millisecond
	for _, tc := range []struct {
		name      string
		algorithm limiter.Algorithm
		window    time.Duration
		processes int
		denyCache int
		cost      func() int64
		least     float64 // a window, on average
	}{
		{"sliding", limiter.SlidingWindow, window, 1, 0, one, 4},
		{"sliding without deny cache", limiter.SlidingWindow, window, 1, -1, one, 4},
		{"sliding, four processes", limiter.SlidingWindow, window, 4, 0, one, 4},
		{"sliding, four processes without deny cache", limiter.SlidingWindow, window, 4, -1, one, 4},
		{"sliding, windows shorter than skew", limiter.SlidingWindow, 15 * time.Millisecond, 2, 0, one, 2},
		{"sliding, costs of one to three", limiter.SlidingWindow, window, 2, 0, oneToThree, 3},
		{"fixed", limiter.FixedWindow, window, 1, 0, one, 4},
		{"fixed without deny cache", limiter.FixedWindow, window, 1, -1, one, 4},
		{"fixed, four processes", limiter.FixedWindow, window, 4, 0, one, 4},
		{"fixed, costs of one to three", limiter.FixedWindow, window, 2, 0, oneToThree, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kv := distant(newMapKV(time.Now))
				var stores []*kvstore.Store
				for range tc.processes {
					stores = append(stores, newStore(t, kv, kvstore.Config{DenyCache: tc.denyCache, Skew: 20 * time.Millisecond}))
				}
				limit := limiter.Limit{Requests: 5, Window: tc.window, Algorithm: tc.algorithm}
				hammer(t, stores, limit, tc.cost, time.Millisecond, 8).check(t, tc.least)
			})
		})
	}
}

func TestManyCallersOfALargeLimit(t *testing.T) {
	for _, algorithm := range []limiter.Algorithm{limiter.SlidingWindow, limiter.FixedWindow} {
		t.Run(algorithm.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kv := distant(newMapKV(time.Now))
				stores := []*kvstore.Store{newStore(t, kv, kvstore.Config{}), newStore(t, kv, kvstore.Config{})}
				limit := limiter.Limit{Requests: 500, Window: time.Second, Algorithm: algorithm}
				hammer(t, stores, limit, one, 10*time.Millisecond, 4).check(t, 450)
			})
		})
	}
}

func TestClocksApart(t *testing.T) {
	const apart = 5 * time.Second
	ahead := func() time.Time { return time.Now().Add(apart) }
	for _, tc := range []struct {
		name      string
		algorithm limiter.Algorithm
		skew      time.Duration
	}{
		{"sliding within skew", limiter.SlidingWindow, apart},
		{"fixed within skew", limiter.FixedWindow, apart},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kv := distant(newMapKV(time.Now))
				stores := []*kvstore.Store{
					newStore(t, kv, kvstore.Config{Skew: tc.skew}),
					newStore(t, kv, kvstore.Config{Skew: tc.skew, Now: ahead}),
				}
				limit := limiter.Limit{Requests: 50, Window: 20 * time.Second, Algorithm: tc.algorithm}
				hammer(t, stores, limit, one, 100*time.Millisecond, 4).check(t, 35)
			})
		})
	}
}

// Beyond skew the slower clock's charges are missed by the faster one: at most the limit at each turn.
func TestClocksApartBeyondSkew(t *testing.T) {
	const apart = 5 * time.Second
	for _, algorithm := range []limiter.Algorithm{limiter.SlidingWindow, limiter.FixedWindow} {
		t.Run(algorithm.String(), func(t *testing.T) {
			clock := newHand()
			kv := newMapKV(clock.Now)
			slow := newStore(t, kv, kvstore.Config{Now: clock.Now, DenyCache: -1})
			fast := newStore(t, kv, kvstore.Config{Now: func() time.Time { return clock.Now().Add(apart) }, DenyCache: -1})
			limit := limiter.Limit{Requests: 10, Window: time.Minute, Algorithm: algorithm}

			const turns = 4
			spent := 0
			for range turns * 60 {
				for _, store := range []*kvstore.Store{fast, slow} {
					for take(t, store, charge(limit, 1)).Allowed {
						spent++
					}
				}
				clock.Advance(time.Second)
			}
			if most := (turns + 1) * 2 * 10; spent < turns*10 || spent > most {
				t.Errorf("over %d turns: let in %d, want %d to %d", turns, spent, turns*10, most)
			}
		})
	}
}

// A batch that loses on one counter gives back what it took from the other, so nobody is shut out for good.
func TestManyCallersOfTwoCounters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := newMapKV(time.Now)
		store := newStore(t, distant(inner), kvstore.Config{Timeout: time.Second, DenyCache: -1})
		wide, narrow := limiter.Limit{Requests: 100, Window: time.Hour}, limiter.Limit{Requests: 7, Window: time.Hour, Algorithm: limiter.FixedWindow}
		var wg sync.WaitGroup
		var mu sync.Mutex
		spent := int64(0)
		for range 64 {
			wg.Go(func() {
				batch := []limiter.Charge{{Key: "wide", Limit: wide, Cost: 1}, {Key: "narrow", Limit: narrow, Cost: 1}}
				taken, err := store.Take(context.Background(), batch)
				if err != nil {
					t.Error(err)
				}
				if taken {
					mu.Lock()
					spent++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if spent != 7 {
			t.Errorf("batches taken: got %d, want 7", spent)
		}
		if got := inner.sum(); got != 2*spent {
			t.Errorf("left in the KV: %d units, want %d", got, 2*spent)
		}
	})
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

// Between reading and adding, others give back: an observed charge that did not fit when it was read does now, and
// must be spent if it is told so.
func TestObservedChargeFitsAnew(t *testing.T) {
	clock := newHand()
	inner := newMapKV(clock.Now)
	other := newStore(t, inner, kvstore.Config{Timeout: patient, Now: clock.Now})
	limit := limiter.PerMinute(10)
	kv := hooked{KV: inner, add: once(func() { take(t, other, charge(limit, -5)) })}
	store := newStore(t, kv, kvstore.Config{Timeout: patient, Now: clock.Now})

	take(t, other, charge(limit, 8))
	batch := []limiter.Charge{charge(limit, 1), charge(limit, 3)}
	batch[1].Mode = limiter.Shadow
	if taken, err := store.Take(context.Background(), batch); !taken || err != nil {
		t.Fatalf("got %v, %v, want true, nil", taken, err)
	}
	want := int64(3 + 1)
	if batch[1].Allowed {
		want += 3
	}
	if got := inner.sum(); got != want {
		t.Errorf("left in the KV: %d units, want %d", got, want)
	}
}
