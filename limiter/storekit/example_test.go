package storekit_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/storekit"
)

// remote is a store in front of a server that trip asks.
type remote struct {
	clock   *storekit.Clock
	cache   *storekit.DenyCache
	breaker *storekit.Breaker
	trip    func(context.Context, []limiter.Charge) (bool, error)
}

func (r *remote) Take(ctx context.Context, charges []limiter.Charge) (bool, error) {
	before := r.clock.Now()
	if r.cache.Answer(charges, before) {
		return false, nil
	}
	permit, err := r.breaker.Begin(before)
	if err != nil {
		return false, err
	}
	taken, err := r.trip(ctx, charges)
	after := r.clock.Now()
	switch {
	case err == nil:
		r.breaker.End(permit, after, storekit.Succeeded)
		r.cache.Learn(charges, taken, before, after)
		return taken, nil
	case ctx.Err() != nil:
		r.breaker.End(permit, after, storekit.Undecided)
	default:
		r.breaker.End(permit, after, storekit.Failed)
	}
	r.cache.Forget(charges, after)
	return false, err
}

// The way of a decision through a store: what is known to be refused needs no trip, a server that is down is not
// asked, and every trip reports how it went.
func Example() {
	trips := 0
	store := &remote{
		clock:   storekit.NewClock(nil),
		cache:   storekit.NewDenyCache(0),
		breaker: storekit.NewBreaker(50 * time.Millisecond),
		trip: func(_ context.Context, charges []limiter.Charge) (bool, error) {
			trips++
			if charges[0].Key == "lost" {
				return false, errors.New("connection refused")
			}
			charges[0].Decision = limiter.Decision{RetryAfter: time.Minute}
			return false, nil
		},
	}
	for range 3 {
		taken, err := store.Take(context.Background(), []limiter.Charge{{Key: "greedy", Limit: limiter.PerMinute(1), Cost: 1}})
		fmt.Println(taken, err)
	}
	fmt.Println("trips:", trips)
	_, err := store.Take(context.Background(), []limiter.Charge{{Key: "lost", Limit: limiter.PerMinute(1), Cost: 1}})
	fmt.Println(err, store.breaker.Open())
	// Output:
	// false <nil>
	// false <nil>
	// false <nil>
	// trips: 1
	// connection refused false
}
