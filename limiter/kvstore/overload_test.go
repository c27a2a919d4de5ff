package kvstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/kvstore"
)

// TestOverloadAdmitsAsManyWithADenyCache: under steady overload the cache saves trips and changes no decision: each
// request gets the same answer from a store that has one and from a store that has none.
func TestOverloadAdmitsAsManyWithADenyCache(t *testing.T) {
	for name, l := range map[string]limiter.Limit{
		"sliding window":              limiter.Per(10, 4*time.Second),
		"sliding window of one":       limiter.Per(1, 700*time.Millisecond),
		"fixed window":                {Requests: 7, Window: 2 * time.Second, Algorithm: limiter.FixedWindow},
		"longer than an answer lasts": limiter.Per(5, time.Minute),
	} {
		t.Run(name, func(t *testing.T) {
			clock := newHand()
			cachedKV, plainKV := newMapKV(clock.Now), newMapKV(clock.Now)
			trips := 0
			counted := hooked{KV: cachedKV, get: func(context.Context, []string) error { trips++; return nil }}
			cached := newStore(t, counted, kvstore.Config{Now: clock.Now, Direct: true})
			plain := newStore(t, plainKV, kvstore.Config{Now: clock.Now, DenyCache: -1, Direct: true})
			admitted, asked := 0, 0
			for range 4000 {
				with := []limiter.Charge{{Scope: "s", Key: "k", Limit: l, Cost: 1}}
				without := []limiter.Charge{with[0]}
				got, err := cached.Take(t.Context(), with)
				if err != nil {
					t.Fatal(err)
				}
				want, err := plain.Take(t.Context(), without)
				if err != nil {
					t.Fatal(err)
				}
				if got != want || with[0].Decision != without[0].Decision {
					t.Fatalf("request %d: got %v %+v with a cache, want %v %+v", asked, got, with[0].Decision, want, without[0].Decision)
				}
				if got {
					admitted++
				}
				asked++
				clock.Advance(17 * time.Millisecond)
			}
			if admitted == 0 || trips > asked/2 {
				t.Errorf("admitted %d of %d with %d trips, want some, and most refusals without a trip", admitted, asked, trips)
			}
		})
	}
}
