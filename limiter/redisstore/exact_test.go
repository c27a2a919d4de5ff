package redisstore_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/redisstore"
)

// Take returns an error where the script and package limiter do not agree on a batch, so it is enough to ask.
// Numbers are taken from where doubles, 24-bit counts and tags run out.
func TestScriptAgreesWithPackageLimiter(t *testing.T) {
	t.Parallel()
	server := startFake(t)
	store := newStore(t, connect(t, server.Addr()), redisstore.Config{DenyCache: noCache})
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	among := func(values ...int64) int64 { return values[random.IntN(len(values))] + random.Int64N(3) - 1 }

	limits := func() limiter.Limit {
		for {
			l := limiter.Limit{
				Algorithm: everyAlgorithm[random.IntN(len(everyAlgorithm))],
				Requests:  among(2, 1000, 1<<24, 1<<24, 100_000_000, 999_999_999),
				Window:    time.Duration(among(1, 2, 1000, 86_400_000, 31*86_400_000, 366*86_400_000-1)) * time.Millisecond,
			}
			if l.Algorithm == limiter.TokenBucket {
				l.Burst = among(1, 50, 1_000_000)
			}
			if l.Validate() == nil {
				return l
			}
		}
	}
	for range 60 {
		limit := limits()
		key := fmt.Sprint(random.Uint64())
		var last limiter.State
		for range 25 {
			c := charge(key, limit, among(1, limit.Requests/2, limit.Requests, 1<<24, limiter.MaxCount))
			c.Mode = limiter.Mode(random.IntN(4))
			if random.IntN(4) == 0 {
				c.Cost, c.State = -c.Cost, last
			}
			batch := []limiter.Charge{c}
			if random.IntN(3) == 0 {
				other := c
				other.Cost, other.Mode = among(1, limit.Requests/3), limiter.Enforce
				batch = append(batch, other)
			}
			if _, err := store.Take(t.Context(), batch); err != nil {
				t.Fatalf("%v of %v: %v", c.Cost, limit, err)
			}
			last = batch[0].State
			passed := limit.Window * time.Duration(random.IntN(5)) / 4
			server.advance(max(passed.Truncate(time.Millisecond), 0))
		}
	}
}

// A quotient that needs both limbs of the script's long division, compared with its value in exact arithmetic.
func TestLongDivision(t *testing.T) {
	t.Parallel()
	server := startFake(t)
	store := newStore(t, connect(t, server.Addr()), redisstore.Config{DenyCache: noCache})
	const window = 366 * 24 * time.Hour
	limit := limiter.Per(1_000_000_000, window)
	w := window.Milliseconds()
	server.advance(time.Duration(w-server.now.UnixMilli()%w) * time.Millisecond)
	const spent = 999_999_937
	take(t, store, charge("key", limit, spent))
	server.advance(window)
	for _, elapsed := range []int64{0, 1, 7, 31, 12_345_678_901, w / 2, w - 2, w - 1} {
		server.advance(time.Duration(elapsed) * time.Millisecond)
		look := charge("key", limit, 0)
		_, got := take(t, store, look)
		weighted := new(big.Int).Mul(big.NewInt(spent), big.NewInt(w-elapsed))
		weighted.Quo(weighted, big.NewInt(w))
		if want := limit.Requests - weighted.Int64(); got[0].Remaining != want {
			t.Errorf("%d ms after the boundary %d are left, want %d", elapsed, got[0].Remaining, want)
		}
		server.advance(-time.Duration(elapsed) * time.Millisecond)
	}
}
