package redisstore_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/redisstore"
)

// The straight way decides as general.lua does, over window boundaries and steps of the clock, and leaves the same
// behind, what was taken back included.
func TestStraightWayDecidesAsGeneral(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			server := startFake(t)
			client := connect(t, server.Addr())
			straight := newStore(t, client, redisstore.Config{DenyCache: noCache, Prefix: "straight:"})
			generally := newStore(t, client, redisstore.Config{DenyCache: noCache, Prefix: "general:"})
			dice := rand.New(rand.NewPCG(seed, 1))
			decided := map[string]int{}
			for flight := range 250 {
				asked, alike := throwFlight(dice), [][]limiter.Charge(nil)
				for _, charges := range asked {
					alike = append(alike, slices.Clone(charges))
				}
				order, taken, faults := straight.TakeInOneFlight(t.Context(), asked)
				for _, n := range order {
					wantTaken, wantFault := generally.TakeGenerally(t.Context(), alike[n])
					if taken[n] != wantTaken || (faults[n] != nil) != (wantFault != nil) {
						t.Fatalf("flight %d, batch %+v: got %v and error %v, general.lua %v and %v",
							flight, alike[n], taken[n], faults[n], wantTaken, wantFault)
					}
					if wantFault == nil && !slices.Equal(asked[n], alike[n]) {
						t.Fatalf("flight %d, batch %d: got\n%+v, general.lua\n%+v", flight, n, asked[n], alike[n])
					}
					decided[fmt.Sprintf("%d charges: %v", len(asked[n]), taken[n])]++
				}
				got, want := held(server, "straight:"), held(server, "general:")
				if !maps.Equal(got, want) {
					t.Fatalf("flight %d: the keys hold\n%v, those of general.lua\n%v", flight, got, want)
				}
				passTime(t, server, dice)
			}
			for _, n := range []string{"1", "2", "3"} {
				for _, taken := range []string{"true", "false"} {
					if outcome := n + " charges: " + taken; decided[outcome] == 0 {
						t.Errorf("no batch of %s, want some for the test to say anything: %v", outcome, decided)
					}
				}
			}
		})
	}
}

// passTime moves the clock, mostly by little and rarely back, or spoils a counter.
func passTime(t *testing.T, server *fake, dice *rand.Rand) {
	t.Helper()
	steps := []time.Duration{
		0, 300 * time.Millisecond, 700 * time.Millisecond, time.Second, 3 * time.Second, 8 * time.Second, time.Hour,
	}
	switch dice.IntN(40) {
	case 0:
		server.setBack(steps[dice.IntN(len(steps))])
	case 1:
		spoilBoth(t, server, dice)
	default:
		server.advance(steps[dice.IntN(len(steps)-dice.IntN(6))])
	}
}

// held returns what the keys of a prefix hold and when they end.
func held(server *fake, prefix string) map[string]string {
	keys := map[string]string{}
	for _, key := range server.Keys() {
		if name, found := strings.CutPrefix(key, prefix); found {
			value, err := server.Get(key)
			keys[name] = fmt.Sprint(value, err, " for ", server.TTL(key))
		}
	}
	return keys
}

// throwFlight makes batches of few clients under few limits, so that callers meet.
func throwFlight(dice *rand.Rand) [][]limiter.Charge {
	limits := []limiter.Limit{
		limiter.Per(4, time.Second), limiter.Per(9, 10*time.Second), limiter.Per(30, time.Minute),
		per(limiter.FixedWindow, 12, 10*time.Second), per(limiter.FixedWindow, 40, time.Hour),
	}
	costs := []int64{1, 1, 1, 1, 2, 3}
	flight := make([][]limiter.Charge, 1+dice.IntN(8))
	for i := range flight {
		if i > 0 && dice.IntN(3) == 0 {
			flight[i] = slices.Clone(flight[i-1])
			if last := len(flight[i]) - 1; last > 0 && dice.IntN(2) == 0 { // another account behind the same address
				flight[i][last].Key = string(rune('a' + dice.IntN(3)))
			}
			continue
		}
		key := string(rune('a' + dice.IntN(3)))
		first := dice.IntN(len(limits))
		for j := range 1 + dice.IntN(3) {
			c := charge(key, limits[(first+j)%len(limits)], costs[dice.IntN(len(costs))])
			if dice.IntN(4) == 0 {
				c.Mode = limiter.Shadow
			}
			flight[i] = append(flight[i], c)
		}
		switch dice.IntN(12) {
		case 0: // as a rule with a Ban asks
			flight[i] = append(flight[i], charge(key, per(limiter.TokenBucket, 1, time.Minute), 0))
		case 1: // as what begins a Ban
			forced := charge(key, per(limiter.TokenBucket, 1, time.Minute), 2)
			forced.Mode = limiter.Force
			flight[i] = []limiter.Charge{forced}
		case 2:
			flight[i][0].Cost = -1
		case 3:
			flight[i][0].Mode, flight[i][0].Cost = limiter.Force, 1<<24
		}
	}
	return flight
}

// spoilBoth puts what the store did not write, or what is from the future, into one counter of both prefixes.
func spoilBoth(t *testing.T, server *fake, dice *rand.Rand) {
	t.Helper()
	full := fmt.Sprint(" ", word(server.now.UnixMilli()/(10*time.Second).Milliseconds(), 0, 9)) // no number to Redis
	values := []string{full, full, "garbage", "0", "-4", "9007199254740991", "9223372036854775807", fmt.Sprint(int64(1)<<52 + 3)}
	value := values[dice.IntN(len(values))]
	for _, prefix := range []string{"straight:", "general:"} {
		key := prefix + "{a}:scope:w:10s"
		must(t, server.Set(key, value))
		server.SetTTL(key, 15*time.Second)
	}
}
