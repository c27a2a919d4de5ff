package limiter_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
)

// A letter counts for both the hour and the day, or for neither.
func ExampleNew() {
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	mail, err := limiter.New(store, "mail", limiter.PerHour(2), limiter.PerDay(100))
	if err != nil {
		log.Fatal(err)
	}
	for range 3 {
		d, err := mail.Allow(context.Background(), "alice@example.com")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(d.Allowed, d.Remaining)
	}
	// Output:
	// true 1
	// true 0
	// false 0
}

// Two limits of one window would be one counter, of which only the lower limit could hold. A burst beside a rate
// is what TokenBucket is for.
func ExampleNew_twoLimitsOfOneWindow() {
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	_, err = limiter.New(store, "mail", limiter.PerHour(2), limiter.PerHour(100))
	fmt.Println(err)

	burst := limiter.Limit{Requests: 2, Window: time.Hour, Algorithm: limiter.TokenBucket, Burst: 100}
	_, err = limiter.New(store, "mail", burst)
	fmt.Println(err)
	// Output:
	// limiter: limits[0] and limits[1] have the same Algorithm and Window and would be one counter: keep the lower one
	// <nil>
}

func ExamplePer() {
	fmt.Println(limiter.Per(5, 15*time.Second))
	fmt.Println(limiter.PerSecond(10))
	fmt.Println(limiter.PerMinute(100))
	fmt.Println(limiter.PerHour(1000))
	fmt.Println(limiter.PerDay(5000))
	// Output:
	// 5/15s
	// 10/s
	// 100/m
	// 1000/h
	// 5000/d
}

func ExampleParseLimit() {
	for _, text := range []string{"100/m", "20/s token-bucket burst=40", "100 per minute", "5/s burst=10"} {
		l, err := limiter.ParseLimit(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(l.Requests, "per", l.Window, l.Algorithm)
	}
	// Output:
	// 100 per 1m0s sliding-window
	// 20 per 1s token-bucket
	// limiter: cannot read limit "100 per minute": want N/[N]unit [algorithm] [burst=N], such as "100/m", "5/15s", "20/s token-bucket burst=40"; units are ms, s, m, h and d
	// limiter: cannot use limit "5/s burst=10": limiter: Burst is 10, want 0 for sliding-window: only TokenBucket has a burst
}

// A caller that cannot wait long enough gets an error at once.
func ExampleLimiter_Wait() {
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	calls, err := limiter.New(store, "calls to a partner", limiter.PerHour(1))
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for range 2 {
		err := calls.Wait(ctx, "partner")
		fmt.Println(err == nil, errors.Is(err, limiter.ErrWaitTooLong))
	}
	// Output:
	// true false
	// false true
}

// Units that were spent in vain are refunded.
func ExampleLimiter_Refund() {
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	exports, err := limiter.New(store, "exports", limiter.PerDay(3))
	if err != nil {
		log.Fatal(err)
	}
	if _, err := exports.AllowN(ctx, "alice", 2); err != nil {
		log.Fatal(err)
	}
	if err := exports.Refund(ctx, "alice", 2); err != nil {
		log.Fatal(err)
	}
	d, err := exports.Peek(ctx, "alice")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Remaining)
	// Output: 3
}
