package redisstore_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/redisstore"
)

// Callers of one counter who share a flight share its write; what does not fit of that is taken back in one.
func TestCommandsOfManyDecisions(t *testing.T) {
	t.Parallel()
	client := connect(t, startRedis(t))
	store := newStore(t, client, redisstore.Config{DenyCache: noCache})
	limit := limiter.Per(5, 300*24*time.Hour)
	for _, key := range []string{"hot", "a", "b"} {
		take(t, store, charge(key, limit, 1))
	}
	store.Settle()
	if err := client.ConfigResetStat(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	var asked [][]limiter.Charge
	for _, key := range []string{"hot", "a", "hot", "hot", "b", "new", "hot", "hot", "hot"} {
		asked = append(asked, []limiter.Charge{charge(key, limit, 1)})
	}
	_, taken, faults := store.TakeInOneFlight(t.Context(), asked)
	let := map[string]int{}
	for i := range asked {
		if faults[i] != nil {
			t.Fatal(faults[i])
		}
		if taken[i] {
			let[asked[i][0].Key]++
		}
	}
	if want := map[string]int{"hot": 4, "a": 1, "b": 1, "new": 1}; !maps.Equal(let, want) {
		t.Errorf("let in: got %v, want %v", let, want)
	}
	got := commands(t, client)
	if want := map[string]int{"evalsha": 1, "time": 1, "incrby": 5, "pttl": 1, "set": 1}; !maps.Equal(got, want) {
		t.Errorf("commands: got %v, want %v", got, want)
	}
}

// What windows.lua cannot decide goes to general.lua in the same pipeline, and spends nothing of anybody else.
func TestCommandsOfAMixedFlight(t *testing.T) {
	t.Parallel()
	client := connect(t, startRedis(t))
	store := newStore(t, client, redisstore.Config{DenyCache: noCache})
	window := limiter.Per(5, 300*24*time.Hour)
	bucket := per(limiter.TokenBucket, 5, time.Hour)
	asked := func() [][]limiter.Charge {
		return [][]limiter.Charge{
			{charge("a", window, 1)},
			{charge("a", bucket, 1)},
			{charge("b", window, 1)},
			{charge("b", window, 1), charge("b", bucket, 1)},
			{charge("c", window, 6)},
		}
	}
	store.TakeInOneFlight(t.Context(), asked()) // the server comes to know the scripts
	must(t, client.ConfigResetStat(t.Context()).Err())
	_, taken, faults := store.TakeInOneFlight(t.Context(), asked())
	for i, want := range []bool{true, true, true, true, false} {
		if taken[i] != want || faults[i] != nil {
			t.Errorf("batch %d: taken %v, error %v, want taken %v", i, taken[i], faults[i], want)
		}
	}
	got := commands(t, client)
	// general.lua reads the keys one by one: a, and the two of b, and c, which no cost of 6 fits.
	want := map[string]int{"evalsha": 2, "time": 2, "get": 4, "incrby": 3, "set": 2}
	if !maps.Equal(got, want) {
		t.Errorf("commands: got %v, want %v", got, want)
	}
}

// A flight decides as single calls in its order would.
func TestFlightDecidesInOrder(t *testing.T) {
	t.Parallel()
	for name, addr := range map[string]string{"redis-server": startRedis(t), "miniredis": startFake(t).Addr()} {
		t.Run(name, func(t *testing.T) {
			client := connect(t, addr)
			together := newStore(t, client, redisstore.Config{DenyCache: noCache, Prefix: "together:"})
			alone := newStore(t, client, redisstore.Config{DenyCache: noCache, Prefix: "alone:"})
			dice := rand.New(rand.NewPCG(1, 2))
			for flight := range 60 {
				scope := fmt.Sprint("scope", flight/6) // counters fill over some flights
				if flight%6 == 3 {
					spoil(t, client, scope, dice, "together:", "alone:")
				}
				asked := make([][]limiter.Charge, 1+dice.IntN(40))
				for i := range asked {
					asked[i] = throw(dice, scope)
				}
				singly := make([][]limiter.Charge, len(asked))
				for i := range asked {
					singly[i] = append(singly[i], asked[i]...)
				}
				order, taken, faults := together.TakeInOneFlight(t.Context(), asked)
				for _, n := range order {
					wantTaken, wantFault := alone.Take(t.Context(), singly[n])
					if taken[n] != wantTaken || (faults[n] != nil) != (wantFault != nil) {
						t.Fatalf("flight %d, batch %d: got %v and error %v, alone %v and %v",
							flight, n, taken[n], faults[n], wantTaken, wantFault)
					}
					for i, c := range asked[n] {
						if want := singly[n][i]; wantFault == nil && name == "miniredis" && c.Decision != want.Decision {
							t.Fatalf("flight %d, batch %d, charge %d: got %+v, alone %+v", flight, n, i, c, want)
						}
						if want := singly[n][i]; wantFault == nil && (c.Allowed != want.Allowed || c.Remaining != want.Remaining) {
							t.Fatalf("flight %d, batch %d, charge %d: got allowed %v with %d remaining, alone %v with %d",
								flight, n, i, c.Allowed, c.Remaining, want.Allowed, want.Remaining)
						}
					}
				}
			}
		})
	}
}

// throw makes a batch of which there are few kinds, so that many meet on one counter: mostly the usual one.
func throw(dice *rand.Rand, scope string) []limiter.Charge {
	const long = 300 * 24 * time.Hour
	limits := []limiter.Limit{
		limiter.Per(7, long), limiter.Per(40, long), per(limiter.FixedWindow, 9, long), limiter.Per(1<<25, long),
	}
	costs := []int64{1, 1, 1, 1, 2, 3, 0, -1, 1 << 24}
	batch := make([]limiter.Charge, 1+max(0, dice.IntN(8)-6))
	for i := range batch {
		c := charge(string(rune('a'+dice.IntN(5))), limits[dice.IntN(len(limits))], costs[dice.IntN(len(costs))])
		c.Scope, c.Mode = scope, limiter.Mode(max(0, dice.IntN(12)-8))
		batch[i] = c
	}
	return batch
}

// spoil puts what the store did not write into the same counter of both prefixes.
func spoil(t *testing.T, client *redis.Client, scope string, dice *rand.Rand, prefixes ...string) {
	t.Helper()
	values := []string{"garbage", "1.5", " 7", "0x7", "1e3", "0", "-4", "inf"}
	value, key := dice.IntN(len(values)+1), string(rune('a'+dice.IntN(5)))
	for _, prefix := range prefixes {
		name := fmt.Sprintf("%s{%s}:%s:w:300d", prefix, key, scope)
		err := client.Del(t.Context(), name).Err()
		if value < len(values) {
			err = errors.Join(err, client.Set(t.Context(), name, values[value], time.Hour).Err())
		} else {
			err = errors.Join(err, client.LPush(t.Context(), name, "of another type").Err())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
