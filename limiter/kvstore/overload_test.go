package kvstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/kvstore"
)

// Under steady overload the deny cache saves calls and changes no decision: each request gets the same answer from a
// store with one and from a store without.
func TestOverloadAdmitsAsManyWithADenyCache(t *testing.T) {
	for name, l := range map[string]limiter.Limit{
		"sliding window":              limiter.Per(10, 4*time.Second),
		"sliding window of one":       limiter.Per(1, 700*time.Millisecond),
		"fixed window":                {Requests: 7, Window: 2 * time.Second, Algorithm: limiter.FixedWindow},
		"longer than an answer lasts": limiter.Per(5, time.Minute),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := newClock()
			cachedKV, plainKV := newMapKV(clock.Now), newMapKV(clock.Now)
			calls := 0
			counted := hooked{KV: cachedKV, get: func(context.Context, []string) error { calls++; return nil }}
			cached := newStore(t, counted, kvstore.Config{Timeout: patient, Now: clock.Now, Direct: true})
			plain := newStore(t, plainKV, kvstore.Config{Timeout: patient, Now: clock.Now, DenyCache: -1, Direct: true})
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
					t.Fatalf("request %d: got %v %+v with a cache, want %v %+v",
						asked, got, with[0].Decision, want, without[0].Decision)
				}
				if got {
					admitted++
				}
				asked++
				clock.Advance(17 * time.Millisecond)
			}
			if admitted == 0 || calls > asked/2 {
				t.Errorf("admitted %d of %d with %d calls, want some, and most refusals without a call", admitted, asked, calls)
			}
		})
	}
}
