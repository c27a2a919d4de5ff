package storekit_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
	"github.com/httplimit/httplimit/limiter/storekit"
)

// remote is a store in front of a server, which it asks with call.
type remote struct {
	clock   *storekit.Clock
	cache   *storekit.DenyCache
	breaker *storekit.Breaker
	call    func(context.Context, []limiter.Charge) (bool, error)
}

func (r *remote) Take(ctx context.Context, charges []limiter.Charge) (bool, error) {
	if algorithm.AsksZero(charges) {
		return algorithm.TakeZero(charges, func(others []limiter.Charge) (bool, error) { return r.Take(ctx, others) })
	}
	before := r.clock.Now()
	if r.cache.Answer(charges, before) {
		return false, nil
	}
	permit, err := r.breaker.Begin(before)
	if err != nil {
		return false, err
	}
	taken, err := r.call(ctx, charges)
	after := r.clock.Now()
	switch {
	case err == nil:
		r.breaker.End(permit, after, storekit.Succeeded, nil)
		r.cache.Learn(charges, taken, before, after)
		return taken, nil
	case ctx.Err() != nil:
		r.breaker.End(permit, after, storekit.Undecided, nil)
	default:
		r.breaker.End(permit, after, storekit.Failed, err)
	}
	r.cache.Forget(charges, after)
	return false, err
}

// The way of a decision through a store: a client that was just refused needs no call, a server that is down is not
// asked, and every call reports how it ended.
func Example() {
	calls := 0
	store := &remote{
		clock:   storekit.NewClock(nil),
		cache:   storekit.NewDenyCache(0),
		breaker: storekit.NewBreaker(50 * time.Millisecond),
		call: func(_ context.Context, charges []limiter.Charge) (bool, error) {
			calls++
			if charges[0].Key == "lost" {
				return false, errors.New("connection refused")
			}
			charges[0].Decision = limiter.Decision{RetryAfter: time.Minute}
			return false, nil
		},
	}
	take := func(key string) (bool, error) {
		return store.Take(context.Background(), []limiter.Charge{{Key: key, Limit: limiter.PerMinute(1), Cost: 1}})
	}
	for range 3 {
		taken, err := take("greedy")
		fmt.Println(taken, err)
	}
	fmt.Println("calls:", calls)
	_, err := take("lost")
	fmt.Println(err, store.breaker.Open())
	// Output:
	// false <nil>
	// false <nil>
	// false <nil>
	// calls: 1
	// connection refused false
}
