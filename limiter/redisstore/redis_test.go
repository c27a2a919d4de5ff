package redisstore_test

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/redisstore"
)

// word is what a store writes for a window: the tag of its number, and two counts.
func word(number, previous, current int64) int64 { return (number%32<<24+previous)<<24 + current }

func TestCommandsOfADecision(t *testing.T) {
	t.Parallel()
	const window = 300 * 24 * time.Hour
	client := connect(t, startRedis(t))
	store := newStore(t, client, redisstore.Config{DenyCache: noCache, Prefix: "p:"})
	limit, now := limiter.Per(2, window), time.Now().UnixMilli()/window.Milliseconds()
	for _, tc := range []struct {
		name   string
		stored int64 // 0: what the case before has left
		life   time.Duration
		want   map[string]int
	}{
		{"first", 0, 0, map[string]int{"eval": 1, "evalsha": 1, "time": 1, "incrby": 1, "pttl": 1, "set": 1}},
		{"allowed", 0, 0, map[string]int{"evalsha": 1, "time": 1, "incrby": 1}},
		{"refused", 0, 0, map[string]int{"evalsha": 1, "time": 1, "incrby": 2}},
		{"refused again", 0, 0, map[string]int{"evalsha": 1, "time": 1, "get": 1}},
		{"first after a window boundary, and after a refusal", word(now-1, 0, 1), window,
			map[string]int{"evalsha": 1, "time": 1, "get": 1, "incrby": 1, "pttl": 1, "set": 1}},
		{"first after a window boundary", word(now-1, 0, 1), window,
			map[string]int{"evalsha": 1, "time": 1, "incrby": 1, "pttl": 1, "set": 1}},
		{"refused after a window boundary", word(now-1, 0, 1<<23), window,
			map[string]int{"evalsha": 1, "time": 1, "incrby": 2, "pttl": 2}},
		// Only general.lua decides this one, and it comes to know the server here.
		{"from the future", word(now+1, 0, 1), 3 * window,
			map[string]int{"eval": 1, "evalsha": 2, "time": 2, "get": 2, "incrby": 2, "set": 2}},
		{"from the future again", word(now+1, 0, 1), 3 * window,
			map[string]int{"evalsha": 2, "time": 2, "get": 1, "incrby": 2, "set": 2}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.stored != 0 {
				must(t, client.Set(t.Context(), "p:{192.0.2.7}:scope:w:300d", tc.stored, tc.life).Err())
			}
			must(t, client.ConfigResetStat(t.Context()).Err())
			take(t, store, charge("192.0.2.7", limit, 1))
			store.Settle()
			got := commands(t, client)
			if tc.name == "first" { // contact
				delete(got, "ping")
			}
			for _, handshake := range []string{"hello", "client|setinfo", "client|maint_notifications", "client"} {
				delete(got, handshake)
			}
			if !maps.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// everyKeyEnds checks the lives of all keys: none without an end, none above two of the longest window.
func everyKeyEnds(t *testing.T, client *redis.Client, longest time.Duration) {
	t.Helper()
	keys, err := client.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	if len(keys) == 0 {
		t.Fatal("no keys to look at")
	}
	for _, key := range keys {
		life, err := client.PTTL(t.Context(), key).Result()
		if err != nil {
			t.Fatal(err)
		}
		if life <= 0 || life > longest {
			t.Errorf("key %s lives for %v, want more than 0 and at most %v", key, life, longest)
		}
	}
}

func TestEveryKeyEnds(t *testing.T) {
	t.Parallel()
	client := connect(t, startRedis(t))
	store := newStore(t, client, redisstore.Config{DenyCache: noCache})
	const window = time.Hour
	for _, algorithm := range everyAlgorithm {
		limit := per(algorithm, 100, window)
		for i, steps := range [][]limiter.Charge{
			{charge("", limit, 1)},
			{charge("", limit, 1), charge("", limit, 1)},
			{charge("", limit, 100), charge("", limit, 1)},
			{charge("", limit, 50), charge("", limit, -20), charge("", limit, 1)},
			{charge("", limit, 3), charge("", limit, -3), charge("", limit, 2)},
			{charge("", limit, -3), charge("", limit, 2)},
		} {
			for _, c := range steps {
				c.Key = fmt.Sprint(algorithm, i)
				take(t, store, c)
			}
		}
	}
	everyKeyEnds(t, client, 2*window)
	forced := charge("forced", per(limiter.SlidingWindow, 1, window), 1<<29)
	forced.Mode = limiter.Force
	take(t, store, forced)
	everyKeyEnds(t, client, 2*window)
}

func TestMemoryOfAClient(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		algorithm limiter.Algorithm
		key       string
		each, one int64 // by used_memory, with the server's tables, and by MEMORY USAGE
	}{
		// Two keys, one for each window, take 224.
		{limiter.SlidingWindow, "rl:{192.0.2.7}:scope:w:1d", 136, 112},
		{limiter.StrictWindow, "rl:{192.0.2.7}:scope:s:1d", 220, 220},
	} {
		t.Run(tc.algorithm.String(), func(t *testing.T) {
			client := connect(t, startRedis(t))
			store := newStore(t, client, redisstore.Config{Prefix: "rl:", DenyCache: noCache})
			limit := per(tc.algorithm, 1000, 24*time.Hour)
			take(t, store, charge("192.0.2.7", limit, 500))
			before := usedMemory(t, client)
			const clients = 25_000 // fills the server's tables as far as 100,000 do
			manyClients(t, store, limit, clients)
			each := (usedMemory(t, client) - before) / clients
			one, err := client.MemoryUsage(t.Context(), tc.key).Result()
			must(t, err)
			version := serverVersion(t, client)
			t.Logf("%s: a client takes %d bytes by used_memory, %d by MEMORY USAGE", version, each, one)
			// The connections' buffers are in the first figure, too. What a key takes besides is a matter of the server:
			// the figures of the README are those of Redis 7.0.
			mostEach, mostOne := tc.each, tc.one
			if !strings.HasPrefix(version, "redis 7.0.") {
				mostEach, mostOne = mostEach+40, mostOne+32
			}
			if each > mostEach || one > mostOne {
				t.Errorf("%s: a client takes %d and %d bytes, want at most %d and %d", version, each, one, mostEach, mostOne)
			}
		})
	}
}

func usedMemory(t *testing.T, client *redis.Client) int64 {
	t.Helper()
	info, err := client.InfoMap(t.Context(), "memory").Result()
	must(t, err)
	n, err := strconv.ParseInt(info["Memory"]["used_memory"], 10, 64)
	must(t, err)
	return n
}

// manyClients charges so many clients twice each, and lets the second charge find the first in its place.
func manyClients(t *testing.T, store limiter.Store, limit limiter.Limit, clients int) {
	t.Helper()
	var wg sync.WaitGroup
	const callers = 8
	for g := range callers {
		wg.Go(func() {
			for i := range clients / callers {
				n := g*clients/callers + i
				for range 2 {
					c := charge(fmt.Sprintf("10.%d.%d.%d", n>>16, n>>8&255, n&255), limit, 250)
					if _, err := store.Take(t.Context(), []limiter.Charge{c}); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
}

// A decision on a StrictWindow reads its key once, and writes it once or not at all. The first of a part writes it
// anew.
func TestCommandsOfAStrictDecision(t *testing.T) {
	t.Parallel()
	const window = 300 * 24 * time.Hour
	client := connect(t, startRedis(t))
	store := newStore(t, client, redisstore.Config{DenyCache: noCache, Prefix: "p:"})
	take(t, store, charge("another", per(limiter.StrictWindow, 2, window), 1)) // contact
	store.Settle()
	const key = "p:{192.0.2.7}:scope:s:300d"
	limit := per(limiter.StrictWindow, 2, window)
	older := func(t *testing.T, parts byte) {
		t.Helper()
		value, err := client.Get(t.Context(), key).Bytes()
		must(t, err)
		value[6] -= parts // the low byte of the part's number
		must(t, client.Set(t.Context(), key, value, window).Err())
	}
	for _, tc := range []struct {
		name    string
		older   byte // by how many parts what is stored is made older
		allowed bool
		want    map[string]int
	}{
		{"first", 0, true, map[string]int{"evalsha": 1, "time": 1, "get": 1, "set": 1}},
		{"allowed", 0, true, map[string]int{"evalsha": 1, "time": 1, "get": 1, "setrange": 1}},
		{"refused", 0, false, map[string]int{"evalsha": 1, "time": 1, "get": 1}},
		{"refused in a later part", 10, false, map[string]int{"evalsha": 1, "time": 1, "get": 1}},
		{"first of a part", 1, true, map[string]int{"evalsha": 1, "time": 1, "get": 1, "set": 1}},
	} {
		if tc.older > 0 {
			older(t, tc.older)
		}
		must(t, client.ConfigResetStat(t.Context()).Err())
		taken, got := take(t, store, charge("192.0.2.7", limit, 1))
		if taken != tc.allowed {
			t.Errorf("%s: taken %t, want %t: %+v", tc.name, taken, tc.allowed, got[0])
		}
		if got := commands(t, client); !maps.Equal(got, tc.want) {
			t.Errorf("%s: commands %v, want %v", tc.name, got, tc.want)
		}
	}
}

// serverVersion returns the name and the version of the server, such as "redis 7.0.15".
func serverVersion(t *testing.T, client *redis.Client) string {
	t.Helper()
	info, err := client.InfoMap(t.Context(), "server").Result()
	if err != nil {
		t.Fatal(err)
	}
	server := info["Server"]
	for _, name := range []string{"valkey", "keydb", "dragonfly"} {
		if version, ok := server[name+"_version"]; ok { // beside the version of Redis that it stands for
			return name + " " + version
		}
	}
	return "redis " + server["redis_version"]
}

func TestScriptFlushUnderLoad(t *testing.T) {
	t.Parallel()
	client := connect(t, startRedis(t))
	store := newStore(t, client, redisstore.Config{DenyCache: noCache})
	limit := limiter.Per(500, 300*24*time.Hour)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	flushed := make(chan int)
	go func() {
		n := 0
		for ; ctx.Err() == nil; n++ {
			if err := client.ScriptFlush(t.Context()).Err(); err != nil {
				t.Error(err)
				break
			}
		}
		flushed <- n
	}()
	var allowed atomic.Int64
	together(16, func(int) {
		for range 100 {
			taken, err := store.Take(t.Context(), []limiter.Charge{charge("hot", limit, 1)})
			if err != nil {
				t.Error(err)
				return
			}
			if taken {
				allowed.Add(1)
			}
		}
	})
	stop()
	if n := <-flushed; n == 0 {
		t.Error("the scripts were never flushed")
	}
	if got := allowed.Load(); got != limit.Requests {
		t.Errorf("let in %d, want %d", got, limit.Requests)
	}
}

func TestFlushAllGivesOneMoreLimit(t *testing.T) {
	t.Parallel()
	client := connect(t, startRedis(t))
	store := newStore(t, client, redisstore.Config{DenyCache: noCache})
	for _, algorithm := range everyAlgorithm {
		limit := per(algorithm, 10, 300*24*time.Hour)
		allowed := 0
		for i := range 60 {
			if i == 5 || i == 30 {
				if err := client.FlushAll(t.Context()).Err(); err != nil {
					t.Fatal(err)
				}
			}
			if taken, _ := take(t, store, charge("key", limit, 1)); taken {
				allowed++
			}
		}
		if want := 5 + 10 + 10; allowed != want {
			t.Errorf("%v with two flushes let in %d, want %d", algorithm, allowed, want)
		}
	}
}

func TestForeignValues(t *testing.T) {
	t.Parallel()
	client := connect(t, startRedis(t))
	store := newStore(t, client, redisstore.Config{Prefix: "p:", DenyCache: noCache})
	const text, list = "text", "list"
	for _, tc := range []struct {
		algorithm limiter.Algorithm
		kind      string
		value     string
	}{
		{limiter.SlidingWindow, text, "garbage"}, {limiter.SlidingWindow, text, ""}, {limiter.SlidingWindow, text, "1e9"},
		{limiter.SlidingWindow, text, "0x10"}, {limiter.SlidingWindow, text, " 12"}, {limiter.SlidingWindow, text, "007"},
		{limiter.SlidingWindow, text, "0"}, {limiter.SlidingWindow, text, "-5"}, {limiter.SlidingWindow, text, "1.5"},
		{limiter.SlidingWindow, text, "9007199254740993"}, {limiter.SlidingWindow, text, "9223372036854775807"},
		{limiter.SlidingWindow, text, "1:2"}, {limiter.SlidingWindow, text, "1:2:99999999999"},
		{limiter.SlidingWindow, list, "1"},
		{limiter.FixedWindow, text, "nan"}, {limiter.FixedWindow, list, "1"},
		{limiter.TokenBucket, text, "garbage"}, {limiter.TokenBucket, text, "5"}, {limiter.TokenBucket, text, "-5:1"},
		{limiter.TokenBucket, text, "99999999999999999999:1"}, {limiter.TokenBucket, list, "1"},
		{limiter.SlidingLog, text, "5"}, {limiter.SlidingLog, list, "1"}, {limiter.SlidingLog, list, "a b"},
		{limiter.SlidingLog, list, "99999999999999999 9 nan nan"}, {limiter.SlidingLog, list, "9 9 99999999999999999 3"},
	} {
		t.Run(fmt.Sprintf("%v/%s/%s", tc.algorithm, tc.kind, tc.value), func(t *testing.T) {
			if err := client.FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			limit := per(tc.algorithm, 100, time.Hour)
			letter := map[limiter.Algorithm]string{
				limiter.SlidingWindow: "w", limiter.SlidingLog: "l", limiter.FixedWindow: "f", limiter.TokenBucket: "b",
			}
			key := "p:{bad}:scope:" + letter[tc.algorithm] + ":1h"
			var set redis.Cmder
			if tc.kind == list {
				set = client.RPush(t.Context(), key, strings.Fields(tc.value))
			} else {
				set = client.Set(t.Context(), key, tc.value, time.Hour)
			}
			if set.Err() != nil {
				t.Fatal(set.Err())
			}
			var failed, passed atomic.Int64
			together(32, func(i int) {
				c := charge("good", limit, 1)
				if i%4 == 0 {
					c.Key = "bad"
				}
				taken, err := store.Take(t.Context(), []limiter.Charge{c})
				switch {
				case c.Key == "bad" && err != nil:
					failed.Add(1)
				case c.Key == "good" && err == nil && taken:
					passed.Add(1)
				default:
					t.Errorf("key %s: taken %v, error %v", c.Key, taken, err)
				}
			})
			if failed.Load() != 8 || passed.Load() != 24 {
				t.Errorf("%d failed and %d passed, want 8 and 24", failed.Load(), passed.Load())
			}
			both := []limiter.Charge{charge("good", limit, 1), charge("bad", limit, 1)}
			if taken, err := store.Take(t.Context(), both); err == nil {
				t.Errorf("a batch with the bad key: taken %v, want an error", taken)
			}
			if _, got := take(t, store, charge("good", limit, 0)); got[0].Remaining != 76 {
				t.Errorf("%d units of the good key are left, want 76: a batch with a bad key spends nothing", got[0].Remaining)
			}
			if err := store.Reset(t.Context(), []limiter.Charge{charge("bad", limit, 1)}); err != nil {
				t.Error(err)
			}
			if taken, _ := take(t, store, charge("bad", limit, 1)); !taken {
				t.Error("the bad key is refused after a reset")
			}
		})
	}
}
