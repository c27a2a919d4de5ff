package redisstore_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/redisstore"
)

// denials are the states in which a server answers reads and denies writes, and the word by which it says so.
var denials = []struct {
	word, setting, on, off string
}{
	{"OOM", "maxmemory", "1", "0"},
	{"NOREPLICAS", "min-replicas-to-write", "1", "0"},
	{"READONLY", "replicaof", "127.0.0.1 1", "no one"},
}

func setting(t *testing.T, client *redis.Client, name, value string) {
	t.Helper()
	words := []any{"CONFIG", "SET", name, value}
	if name == "replicaof" {
		words = []any{name}
		for word := range strings.FieldsSeq(value) {
			words = append(words, word)
		}
	}
	must(t, client.Do(t.Context(), words...).Err())
}

// A denied write fails the batch that wanted to write. Refusals stand, of the same client and in the same flight, and
// the server counts as one that answers.
func TestDeniedWriteFailsItsBatchAlone(t *testing.T) {
	t.Parallel()
	for _, state := range denials {
		t.Run(state.word, func(t *testing.T) {
			t.Parallel()
			client := connect(t, startRedis(t))
			store := newStore(t, client, redisstore.Config{DenyCache: noCache})
			impatient := newStore(t, client, redisstore.Config{Timeout: 2 * time.Second}) // READONLY is tried again
			ask := func(flight ...[]limiter.Charge) (taken []bool, faults []error) {
				_, taken, faults = store.TakeInOneFlight(t.Context(), flight)
				return taken, faults
			}
			for _, algorithm := range everyAlgorithm {
				limit := per(algorithm, 3, 300*24*time.Hour)
				single := func(key string) []limiter.Charge { return []limiter.Charge{charge(key, limit, 1)} }
				double := func(key string) []limiter.Charge {
					return []limiter.Charge{charge(key, limit, 1), charge(key, per(algorithm, 9, time.Hour), 1)}
				}
				take(t, store, charge("over", limit, 3))
				take(t, store, charge("some", limit, 2))
				setting(t, client, state.setting, state.on)
				flight := [][]limiter.Charge{
					single("new"), single("over"), single("some"), double("over"), double("new"), single("over"), single("some"),
				}
				taken, faults := ask(flight...)
				for i, charges := range flight {
					denied := faults[i] != nil && strings.Contains(faults[i].Error(), state.word)
					if taken[i] || denied != (charges[0].Key != "over") {
						t.Errorf("%v, batch %d of %q: taken %v, error %v, want a refusal of who is over the limit, else %s",
							algorithm, i, charges[0].Key, taken[i], faults[i], state.word)
					}
				}
				if err := impatient.Reset(t.Context(), single("over")); (err == nil) != (state.word == "OOM") {
					t.Errorf("%v, a reset: got %v, want %s unless it frees memory", algorithm, err, state.word)
				}
				setting(t, client, state.setting, state.off)
				if _, got := take(t, store, charge("some", limit, 0)); got[0].Remaining != 1 {
					t.Errorf("%v: %d units are left, want 1: what was denied is not spent", algorithm, got[0].Remaining)
				}
				must(t, client.FlushAll(t.Context()).Err())
			}
			if !store.Healthy() {
				t.Error("not healthy, although the server has answered")
			}
		})
	}
}

// What a batch reads may have to be stored anew, because the server's clock went back. Where that is denied the refusal
// stands all the same.
func TestDeniedWhileTheClockIsBack(t *testing.T) {
	t.Parallel()
	const window = time.Minute
	later := func(d time.Duration) int64 { return time.Now().Add(d).UnixMilli() }
	for _, state := range denials {
		t.Run(state.word, func(t *testing.T) {
			t.Parallel()
			client := connect(t, startRedis(t))
			store := newStore(t, client, redisstore.Config{DenyCache: noCache})
			for _, tc := range []struct {
				algorithm limiter.Algorithm
				store     func(key string) error
			}{
				{limiter.SlidingWindow, func(key string) error {
					number := later(10*window) / window.Milliseconds()
					return client.Set(t.Context(), key, (number%32)<<48+3, 12*window).Err()
				}},
				{limiter.FixedWindow, func(key string) error {
					number := later(10*window) / window.Milliseconds()
					return client.Set(t.Context(), key, fmt.Sprintf("%d:0:3", number), 12*window).Err()
				}},
				{limiter.TokenBucket, func(key string) error {
					debt := 3 * window.Milliseconds()
					return client.Set(t.Context(), key, fmt.Sprintf("%d:%d", debt, later(10*window)), 12*window).Err()
				}},
				{limiter.SlidingLog, func(key string) error { // one unit of the past, two of the future
					return client.RPush(t.Context(), key, later(-window/4), 1, later(window/2), 3).Err()
				}},
				{limiter.SlidingLog, func(key string) error { // all of the future
					return client.RPush(t.Context(), key, later(10*window), 3).Err()
				}},
				{limiter.StrictWindow, func(key string) error { // a mark, the part's number, all units, those of the part
					part := make([]byte, 8)
					binary.BigEndian.PutUint64(part, uint64(later(10*window)/(window/10).Milliseconds()))
					value := slices.Concat([]byte{1}, part[2:], []byte{0, 0, 0, 3, 0, 0, 0, 3}, make([]byte, 40))
					return client.Set(t.Context(), key, value, 12*window).Err()
				}},
			} {
				limit := per(tc.algorithm, 3, window)
				letter := map[limiter.Algorithm]string{
					limiter.SlidingWindow: "w", limiter.FixedWindow: "f", limiter.TokenBucket: "b", limiter.SlidingLog: "l",
					limiter.StrictWindow: "s",
				}
				must(t, tc.store("rl:{key}:scope:"+letter[tc.algorithm]+":1m"))
				setting(t, client, state.setting, state.on)
				c := []limiter.Charge{charge("key", limit, 1)}
				for range 3 {
					taken, err := store.Take(t.Context(), c)
					if wait := c[0].RetryAfter; taken || err != nil || wait <= 0 || wait > 2*window {
						t.Errorf("%v: taken %v, error %v, retry after %v, want a refusal for at most %v",
							tc.algorithm, taken, err, wait, 2*window)
					}
				}
				setting(t, client, state.setting, state.off)
				if taken, _ := take(t, store, c...); taken {
					t.Errorf("%v: let in one more when the server wrote again, want none", tc.algorithm)
				}
				must(t, client.FlushAll(t.Context()).Err())
			}
		})
	}
}

// Eight clients that want units keep asking beside one who is over the limit, as in an ordinary service.
func TestRefusalsStandBesideOthers(t *testing.T) {
	t.Parallel()
	for _, state := range denials {
		t.Run(state.word, func(t *testing.T) {
			t.Parallel()
			client := connect(t, startRedis(t))
			store := newStore(t, client, redisstore.Config{DenyCache: noCache})
			limit := limiter.Per(3, 300*24*time.Hour)
			take(t, store, charge("offender", limit, 3))
			setting(t, client, state.setting, state.on)
			ctx, stop := context.WithCancel(t.Context())
			var others sync.WaitGroup
			for i := range 8 {
				others.Go(func() {
					for ctx.Err() == nil {
						taken, err := store.Take(ctx, []limiter.Charge{charge(fmt.Sprint(i), limit, 1)})
						if taken || err == nil {
							t.Errorf("a client with units left: taken %v, error %v, want the server's %s", taken, err, state.word)
						} else if ctx.Err() == nil && !strings.Contains(err.Error(), state.word) {
							t.Errorf("a client with units left: got %v, want the server's %s", err, state.word)
						}
					}
				})
			}
			for range 240 {
				taken, err := store.Take(t.Context(), []limiter.Charge{charge("offender", limit, 1)})
				if taken || err != nil {
					t.Errorf("the offender: taken %v, error %v, want a refusal", taken, err)
				}
			}
			stop()
			others.Wait()
			if !store.Healthy() {
				t.Error("not healthy, although the server has answered")
			}
		})
	}
}

func TestErrorsNameNoKey(t *testing.T) {
	t.Parallel()
	client := connect(t, startRedis(t))
	store := newStore(t, client, redisstore.Config{DenyCache: noCache})
	limit := limiter.PerHour(3)
	must(t, client.RPush(t.Context(), "rl:{alice}:scope:w:1h", 1).Err())
	_, err := store.Take(t.Context(), []limiter.Charge{charge("bob", limit, 1), charge("alice", limit, 1)})
	if err == nil || strings.Contains(err.Error(), "alice") {
		t.Errorf("got %v, want an error without the key", err)
	}
	if err == nil || !strings.Contains(err.Error(), `3/h of scope "scope"`) {
		t.Errorf("got %v, want an error that says of which limit and scope", err)
	}
}
