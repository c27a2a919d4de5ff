package memcachestore_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/kvstore"
	"github.com/httplimit/httplimit/limiter/limitertest"
	"github.com/httplimit/httplimit/limiter/memcachestore"
)

var (
	_ limiter.Store   = (*memcachestore.Store)(nil)
	_ limiter.Checker = (*memcachestore.Store)(nil)
)

func TestConformance(t *testing.T) {
	t.Parallel()
	server := sharedServer(t)
	for name, cfg := range map[string]memcachestore.Config{
		"with deny cache": {DenyCache: 1024}, // the default of 65,536 takes long to allocate
		"without":         {DenyCache: -1},
		"direct":          {DenyCache: 1024, Direct: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := newClient(t, server)
			client.Timeout = patient / 4
			limitertest.Run(t, func(t *testing.T) limitertest.Harness {
				clock := newClock()
				cfg.Prefix, cfg.Timeout, cfg.Now = newPrefix(), patient, clock.Now
				return limitertest.Harness{
					Store:      newStore(t, client, cfg),
					Advance:    clock.Advance,
					Algorithms: []limiter.Algorithm{limiter.SlidingWindow, limiter.FixedWindow},
				}
			})
		})
	}
}

func TestConformanceOverTwoServers(t *testing.T) {
	t.Parallel()
	client := newClient(t, sharedServer(t), startServer(t))
	limitertest.Run(t, func(t *testing.T) limitertest.Harness {
		return limitertest.Harness{
			Store:      newStore(t, client, memcachestore.Config{Prefix: newPrefix(), Timeout: patient}),
			Algorithms: []limiter.Algorithm{limiter.SlidingWindow, limiter.FixedWindow},
		}
	})
}

// Four processes, each with its own connections, meet on one key.
func TestManyCallers(t *testing.T) {
	t.Parallel()
	server := sharedServer(t)
	for _, algorithm := range []limiter.Algorithm{limiter.SlidingWindow, limiter.FixedWindow} {
		t.Run(algorithm.String(), func(t *testing.T) {
			clock, prefix := newClock(), newPrefix()
			cfg := memcachestore.Config{Prefix: prefix, Timeout: patient, Now: clock.Now}
			var stores []*memcachestore.Store
			for range 4 {
				stores = append(stores, newStore(t, newClient(t, server), cfg))
			}
			limit := limiter.Limit{Requests: 5, Window: time.Minute, Algorithm: algorithm}
			for window := range 10 {
				clock.Advance(2 * limit.Window) // so that a sliding window starts empty, too
				var spent atomic.Int64
				var wg sync.WaitGroup
				for i := range 64 {
					wg.Go(func() {
						taken, err := stores[i%len(stores)].Take(context.Background(), []limiter.Charge{charge(limit, 1)})
						if err != nil {
							t.Error(err)
						}
						if taken {
							spent.Add(1)
						}
					})
				}
				wg.Wait()
				if got := spent.Load(); got < 4 || got > 5 {
					t.Errorf("window %d: admitted %d of 64, want 4 or 5", window, got)
				}
			}
		})
	}
}

// memcached leaves a space where decr makes a number shorter.
func TestNumbersThatBecameShorter(t *testing.T) {
	t.Parallel()
	server := sharedServer(t)
	prefix, limit := newPrefix(), limiter.PerHour(100)
	clock := newClock()
	store := newStore(t, newClient(t, server), memcachestore.Config{Prefix: prefix, Timeout: patient, Now: clock.Now})
	take(t, store, charge(limit, 10))
	take(t, store, charge(limit, -1))
	key := fmt.Sprintf("%ss|k|s3600000|%d", prefix, clock.Now().UnixMilli()/time.Hour.Milliseconds())
	if got, want := server.ask(t, "mg %s v s", key), "VA 2 s2"; got != want {
		t.Fatalf("memcached answers %q, want %q: the item holds no space any more", got, want)
	}
	if got := take(t, store, charge(limit, 0)); got.Current != 9 {
		t.Errorf("10 less 1 is read as %d, want 9", got.Current)
	}
}

// Beyond 30 days memcached takes a time to live for a date, and an item with one second may expire at once.
func TestTimeToLive(t *testing.T) {
	t.Parallel()
	server := sharedServer(t)
	const day = 24 * time.Hour
	for _, window := range []time.Duration{time.Millisecond, time.Second, 14 * day, 15 * day, 45 * day, 366 * day} {
		t.Run(window.String(), func(t *testing.T) {
			clock, prefix := newClock(), newPrefix()
			clock.startWindow(window)
			store := newStore(t, newClient(t, server), memcachestore.Config{Prefix: prefix, Timeout: patient, Now: clock.Now})
			limit := limiter.Per(1, window)
			take(t, store, charge(limit, 1))
			if got := take(t, store, charge(limit, 1)); got.Allowed {
				t.Error("the second of 1 is allowed: the item is gone at once")
			}
			key := fmt.Sprintf("%ss|k|s%d|%d", prefix, window.Milliseconds(), clock.Now().UnixMilli()/window.Milliseconds())
			answer := server.ask(t, "mg %s t", key)
			seconds, err := strconv.ParseInt(strings.TrimPrefix(answer, "HD t"), 10, 64)
			if err != nil {
				t.Fatalf("memcached answers %q, want a time to live", answer)
			}
			// Two windows, Skew of 0.1 s, Timeout, and up to three seconds for clocks of whole seconds.
			least := 2*window + patient
			if got := time.Duration(seconds) * time.Second; got < least || got > least+4*time.Second {
				t.Errorf("lives %v, want %v and a few seconds more", got, least)
			}
		})
	}
}

func TestWindowBoundaries(t *testing.T) {
	t.Parallel()
	client := newClient(t, sharedServer(t))
	for _, window := range []time.Duration{time.Second, time.Minute, 45 * 24 * time.Hour} {
		for _, algorithm := range []limiter.Algorithm{limiter.SlidingWindow, limiter.FixedWindow} {
			t.Run(fmt.Sprintf("%v %v", window, algorithm), func(t *testing.T) {
				clock := newClock()
				clock.startWindow(window)
				store := newStore(t, client, memcachestore.Config{Prefix: newPrefix(), Timeout: patient, Now: clock.Now})
				limit := limiter.Limit{Requests: 10, Window: window, Algorithm: algorithm}
				rest := map[limiter.Algorithm]int64{limiter.SlidingWindow: 5, limiter.FixedWindow: 10}[algorithm]
				for _, step := range []struct {
					advance time.Duration
					spend   int64
				}{{0, 10}, {window + window/2, rest}, {3 * window, 10}} {
					clock.Advance(step.advance)
					if got := take(t, store, charge(limit, step.spend)); !got.Allowed || got.Remaining != 0 {
						t.Errorf("%v later: %d units: %+v, want them allowed and nothing left", step.advance, step.spend, got)
					}
				}
			})
		}
	}
}

// A server of several that does not answer is an error, not a count of 0.
func TestOneOfTwoServersIsDown(t *testing.T) {
	t.Parallel()
	up, down := sharedServer(t), startServer(t)
	cfg := memcachestore.Config{Prefix: newPrefix(), Timeout: patient, NoBreaker: true}
	store := newStore(t, newClient(t, up, down), cfg)
	down.kill()
	failed, passed := 0, 0
	for i := range 64 {
		// One item each: the two of a sliding window may be on two servers.
		c := charge(limiter.Limit{Requests: 5, Window: time.Minute, Algorithm: limiter.FixedWindow}, 1)
		c.Key = fmt.Sprint("key ", i)
		taken, err := store.Take(context.Background(), []limiter.Charge{c})
		switch {
		case err != nil && taken:
			t.Errorf("taken beside the error %v", err)
		case err != nil:
			failed++
		case taken:
			passed++
		}
	}
	if failed == 0 || passed == 0 {
		t.Errorf("of 64 keys %d failed and %d passed, want some of both", failed, passed)
	}
}

func TestForeignItemIsAnError(t *testing.T) {
	t.Parallel()
	client, clock, prefix := newClient(t, sharedServer(t)), newClock(), newPrefix()
	store := newStore(t, client, memcachestore.Config{Prefix: prefix, Timeout: patient, Now: clock.Now})
	limit := limiter.PerHour(5)
	key := fmt.Sprintf("%ss|k|s3600000|%d", prefix, clock.Now().UnixMilli()/time.Hour.Milliseconds())
	if err := client.Set(&memcache.Item{Key: key, Value: []byte("<html>")}); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if _, err := store.Take(context.Background(), []limiter.Charge{charge(limit, 1)}); !errors.Is(err, kvstore.ErrValue) {
			t.Fatalf("from a key that holds something else: got %v, want an error that wraps ErrValue", err)
		}
		clock.Advance(patient / 2)
	}
	if !store.Healthy() {
		t.Error("one item opened the breaker for everybody")
	}
	if err := store.Reset(context.Background(), []limiter.Charge{charge(limit, 1)}); err != nil {
		t.Errorf("Reset: %v", err)
	}
	if got := take(t, store, charge(limit, 1)); !got.Allowed || got.Remaining != 4 {
		t.Errorf("after Reset: got %+v, want the first of five", got)
	}
}

func TestNewReportsEveryFault(t *testing.T) {
	store, err := memcachestore.New(nil, memcachestore.Config{Prefix: "two words", Timeout: -1, Skew: -1})
	if store != nil || err == nil {
		t.Fatalf("got %v, %v, want no store and an error", store, err)
	}
	for _, field := range []string{"client", "Prefix", "Timeout", "Skew"} {
		if !strings.Contains(err.Error(), field+" is ") {
			t.Errorf("%q does not name %s", err, field)
		}
	}
	client := memcache.New("127.0.0.1:1") // not dialled
	for prefix, valid := range map[string]bool{
		"": true, "shop:": true, strings.Repeat("p", 64): true,
		strings.Repeat("p", 65): false, "a b": false, "a\n": false, "ä": false, "\x7f": false,
	} {
		if _, err := memcachestore.New(client, memcachestore.Config{Prefix: prefix}); (err == nil) != valid {
			t.Errorf("Prefix %q: got %v, want it accepted: %v", prefix, err, valid)
		}
	}
}

func TestDirectNeedsAClientWithATimeout(t *testing.T) {
	for _, tc := range []struct {
		client, store time.Duration
		want          bool
	}{
		{0, 0, false}, // 500 ms, the client's default
		{12500 * time.Microsecond, 0, true},
		{12501 * time.Microsecond, 0, false},
		{50 * time.Millisecond, 200 * time.Millisecond, true},
	} {
		client := memcache.New("127.0.0.1:1")
		client.Timeout = tc.client
		_, err := memcachestore.New(client, memcachestore.Config{Direct: true, Timeout: tc.store})
		if (err == nil) != tc.want {
			t.Errorf("client's Timeout %v, Timeout %v: got %v, want it accepted: %v", tc.client, tc.store, err, tc.want)
		}
	}
}

func TestUnsupported(t *testing.T) {
	store := newStore(t, memcache.New("127.0.0.1:1"), memcachestore.Config{})
	limit := limiter.PerMinute(5)
	limit.Algorithm = limiter.TokenBucket
	if _, err := limiter.New(store, "s", limit); !errors.Is(err, limiter.ErrUnsupported) {
		t.Errorf("got %v, want an error that wraps ErrUnsupported", err)
	}
}
