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

// distant returns a KV whose calls take some time both ways, so that many run at once. In a synctest bubble that costs
// no real time.
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

// tally holds the units that were admitted, by window, and when last.
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
	number := c.At / y.limit.Window.Milliseconds()
	y.spent[number] += c.Cost
	y.latest[number] = max(y.latest[number], c.At)
}

// check fails if a window holds more than its limit allows at the moment of its last charge, or on average less
// than least units.
func (y *tally) check(t *testing.T, least float64) {
	t.Helper()
	sum, window := int64(0), y.limit.Window.Milliseconds()
	for number, spent := range y.spent {
		sum += spent
		weighted := int64(0)
		if y.limit.Algorithm == limiter.SlidingWindow {
			weighted = y.spent[number-1] * ((number+1)*window - y.latest[number]) / window
		}
		if weighted+spent > y.limit.Requests {
			t.Errorf("window %d: admitted %d on top of a weight of %d, want at most %d together",
				number, spent, weighted, y.limit.Requests)
		}
	}
	if average := float64(sum) / float64(y.windows); average < least {
		t.Errorf("admitted %.2f units a window of %d, want at least %.2f", average, y.limit.Requests, least)
	}
}

// hammer lets 64 callers ask again and again over the stores in turn, for so many windows.
func hammer(
	t *testing.T, stores []*kvstore.Store, limit limiter.Limit, cost func() int64, pause time.Duration, windows int,
) *tally {
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

// A naive design that always adds first admits half a unit a window here: callers that are about to compensate keep
// the counts above the limit.
func TestManyCallersOfALowLimit(t *testing.T) {
	const window = 125 * time.Millisecond
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
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				kv := distant(newMapKV(time.Now))
				var stores []*kvstore.Store
				cfg := kvstore.Config{DenyCache: tc.denyCache, Skew: 20 * time.Millisecond}
				if tc.window < cfg.Skew {
					cfg.Timeout = patient // two processes that race for each of these windows may take longer than 50 ms
				}
				for range tc.processes {
					stores = append(stores, newStore(t, kv, cfg))
				}
				limit := limiter.Limit{Requests: 5, Window: tc.window, Algorithm: tc.algorithm}
				hammer(t, stores, limit, tc.cost, 4*time.Millisecond, 8).check(t, tc.least)
			})
		})
	}
}

func TestManyCallersOfALargeLimit(t *testing.T) {
	for _, algorithm := range []limiter.Algorithm{limiter.SlidingWindow, limiter.FixedWindow} {
		t.Run(algorithm.String(), func(t *testing.T) {
			t.Parallel()
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
	const clockGap = 5 * time.Second
	ahead := func() time.Time { return time.Now().Add(clockGap) }
	for _, tc := range []struct {
		name      string
		algorithm limiter.Algorithm
		skew      time.Duration
	}{
		{"sliding within skew", limiter.SlidingWindow, clockGap},
		{"fixed within skew", limiter.FixedWindow, clockGap},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
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

// Beyond Skew the faster clock misses charges of the slower one: at most the limit at each window boundary.
func TestClocksApartBeyondSkew(t *testing.T) {
	const clockGap = 5 * time.Second
	for _, algorithm := range []limiter.Algorithm{limiter.SlidingWindow, limiter.FixedWindow} {
		t.Run(algorithm.String(), func(t *testing.T) {
			clock := newClock()
			kv := newMapKV(clock.Now)
			slow := newStore(t, kv, kvstore.Config{Timeout: patient, Now: clock.Now, DenyCache: -1})
			ahead := clock.ahead(clockGap)
			fast := newStore(t, kv, kvstore.Config{Timeout: patient, Now: ahead, DenyCache: -1})
			limit := limiter.Limit{Requests: 10, Window: time.Minute, Algorithm: algorithm}

			const windows = 4
			spent := 0
			for range windows * 60 {
				for _, store := range []*kvstore.Store{fast, slow} {
					for take(t, store, charge(limit, 1)).Allowed {
						spent++
					}
				}
				clock.Advance(time.Second)
			}
			if most := (windows + 1) * 2 * 10; spent < windows*10 || spent > most {
				t.Errorf("over %d windows: admitted %d, want %d to %d", windows, spent, windows*10, most)
			}
		})
	}
}

// A batch that loses on one counter subtracts its units from the other, so no client is shut out for good.
func TestManyCallersOfTwoCounters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := newMapKV(time.Now)
		store := newStore(t, distant(inner), kvstore.Config{Timeout: time.Second, DenyCache: -1})
		wide := limiter.PerHour(100)
		narrow := limiter.Limit{Requests: 7, Window: time.Hour, Algorithm: limiter.FixedWindow}
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

// Between reading and adding, units of others are refunded: a shadow charge that did not fit when the counts were read
// fits now, and must be spent if the answer says so.
func TestShadowChargeFitsAnew(t *testing.T) {
	clock := newClock()
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
