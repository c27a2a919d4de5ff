// Package memcached_test tests memcachestore against a real memcached with instances whose clocks differ.
package memcached_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/httplimit/httplimit/e2e/servers"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memcachestore"
)

const (
	patient  = 20 * time.Second // no slow test machine takes longer
	clockGap = 5 * time.Second  // the clocks of the two instances
	limit    = 20
	windows  = 6
)

func TestClocksApart(t *testing.T) {
	server := servers.Memcached(t)
	for _, tc := range []struct {
		name      string
		algorithm limiter.Algorithm
		window    time.Duration
		skew      time.Duration
		beyond    int64 // the most by which a window and the weight of the previous one may exceed the limit
	}{
		// One counter for both, and both verify their additions: it never holds more than the limit.
		{"fixed, 1 s, beyond skew", limiter.FixedWindow, time.Second, 0, 0},
		{"fixed, 1 m, beyond skew", limiter.FixedWindow, time.Minute, 0, 0},
		{"fixed, 45 d, beyond skew", limiter.FixedWindow, 45 * 24 * time.Hour, 0, 0},
		{"sliding, 1 m, within skew", limiter.SlidingWindow, time.Minute, clockGap, 0},
		{"sliding, 45 d, within skew", limiter.SlidingWindow, 45 * 24 * time.Hour, clockGap, 0},
		// At most the limit more at each window boundary.
		{"sliding, 1 s, shorter than skew", limiter.SlidingWindow, time.Second, clockGap, limit},
		{"sliding, 1 s, beyond skew", limiter.SlidingWindow, time.Second, 0, limit},
		{"sliding, 1 m, beyond skew", limiter.SlidingWindow, time.Minute, 0, limit},
		{"sliding, 45 d, beyond skew", limiter.SlidingWindow, 45 * 24 * time.Hour, 0, limit},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			clock := newClock(tc.window)
			ahead := func() time.Time { return clock.Now().Add(clockGap) }
			prefix := fmt.Sprintf("%v-%v-%v:", tc.algorithm, tc.window, tc.skew)
			stores := []*memcachestore.Store{
				newStore(t, server, memcachestore.Config{Prefix: prefix, Skew: tc.skew, Now: clock.Now}),
				newStore(t, server, memcachestore.Config{Prefix: prefix, Skew: tc.skew, Now: ahead}),
			}
			l := limiter.Limit{Requests: limit, Window: tc.window, Algorithm: tc.algorithm}
			y := tally{limit: l, spent: map[int64]int64{}, latest: map[int64]int64{}}
			slow, fast := stores[:1], stores[1:]
			orders := [][][]*memcachestore.Store{{fast, slow}, {slow, fast}, {stores}}
			first := clock.Now()
			for number := range windows {
				for _, moment := range moments(tc.window) {
					clock.Set(first.Add(time.Duration(number)*tc.window + moment))
					for _, asked := range orders[number%len(orders)] {
						y.exhaust(t, asked)
					}
				}
			}
			y.check(t, tc.beyond)
		})
	}
}

// moments returns when the instances ask in a window. At the last one only one of their clocks is in the next window.
func moments(window time.Duration) []time.Duration {
	if window < clockGap {
		return []time.Duration{0, window / 4, window / 2, window / 4 * 3}
	}
	return []time.Duration{0, clockGap, window / 2, window - clockGap/2}
}

// tally holds the units that were admitted, by the window of the clock that decided, and when last.
type tally struct {
	limit limiter.Limit

	mu            sync.Mutex
	spent, latest map[int64]int64
}

// exhaust lets several callers of each store ask at the same time until they are refused.
func (y *tally) exhaust(t *testing.T, stores []*memcachestore.Store) {
	var callers sync.WaitGroup
	for i := range 8 {
		callers.Go(func() {
			for {
				charges := []limiter.Charge{{Scope: "scope", Key: "key", Limit: y.limit, Cost: 1}}
				taken, err := stores[i%len(stores)].Take(t.Context(), charges)
				if err != nil {
					t.Error(err)
				}
				if !taken {
					return
				}
				y.add(charges[0].At)
			}
		})
	}
	callers.Wait()
}

func (y *tally) add(at int64) {
	y.mu.Lock()
	defer y.mu.Unlock()
	number := at / y.limit.Window.Milliseconds()
	y.spent[number]++
	y.latest[number] = max(y.latest[number], at)
}

// check compares each window, and the weight of the previous one at its last unit, with the limit.
func (y *tally) check(t *testing.T, beyond int64) {
	t.Helper()
	window, sum := y.limit.Window.Milliseconds(), int64(0)
	for number, spent := range y.spent {
		weight := int64(0)
		if y.limit.Algorithm == limiter.SlidingWindow {
			weight = y.spent[number-1] * ((number+1)*window - y.latest[number]) / window
		}
		if weight+spent > y.limit.Requests+beyond {
			t.Errorf("window %d admitted %d on top of a weight of %d, want at most %d together",
				number, spent, weight, y.limit.Requests+beyond)
		}
		sum += spent
	}
	if least := windows * y.limit.Requests / 2; sum < least {
		t.Errorf("admitted %d over %d windows, want at least %d", sum, windows, least)
	}
}

// newStore returns the store of one instance, with connections of its own.
func newStore(t *testing.T, server *servers.Server, cfg memcachestore.Config) *memcachestore.Store {
	t.Helper()
	client := memcache.New(server.Addr())
	client.MaxIdleConns, client.Timeout = 8, patient
	t.Cleanup(func() { client.Close() })
	cfg.Timeout = patient
	store, err := memcachestore.New(client, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// manualClock is a clock that a test sets.
type manualClock struct {
	mu  sync.Mutex
	now time.Time
}

// newClock returns a clock at the start of a window.
func newClock(window time.Duration) *manualClock {
	return &manualClock{now: time.UnixMilli(0).Add((50 * 365 * 24 * time.Hour).Truncate(window))}
}

func (c *manualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *manualClock) Set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}
