package memory

import (
	"context"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
)

// Subject is a limiter that is measured.
type Subject struct {
	Name string
	// Open makes a limiter that allows limit requests per window for each key. It has room for keys of them, if
	// it has a bound at all. It returns how a goroutine begins: what it need not make anew each time is its own.
	Open func(limit int64, window time.Duration, keys int) (session func() Take, err error)
}

// Take spends one request of key and reports whether that was allowed.
type Take func(key string) (allowed bool, err error)

// Subjects returns all limiters. The first one allows everything: it shows what it costs to measure.
func Subjects() []Subject {
	return []Subject{
		{"none", none},
		{"httplimit", httplimit},
		{"httplimit-take", httplimitTake},
		{"httprate", httprateOnLimit},
		{"ulule", ululeGet},
		{"go-limiter", goLimiterTake},
		{"throttled", throttledMap},
		{"throttled-lru", throttledLRU},
		{"tollbooth", tollboothReached},
		{"x-time-map", xtimeMap},
		{"echo", echoAllow},
	}
}

func none(int64, time.Duration, int) (func() Take, error) {
	return shared(func(string) (bool, error) { return true, nil }), nil
}

// httplimit is the public call, Limiter.Allow.
func httplimit(limit int64, window time.Duration, keys int) (func() Take, error) {
	store, err := memstore.New(memstore.Config{MaxKeys: keys})
	if err != nil {
		return nil, err
	}
	l, err := limiter.New(store, "api/ip", limiter.Per(limit, window))
	return shared(func(key string) (bool, error) {
		d, err := l.Allow(context.Background(), key)
		return d.Allowed, err
	}), err
}

// httplimitTake is what the middleware does: a charge that is kept, and Store.Take.
func httplimitTake(limit int64, window time.Duration, keys int) (func() Take, error) {
	store, err := memstore.New(memstore.Config{MaxKeys: keys})
	return func() Take {
		charges := []limiter.Charge{{Scope: "api/ip", Limit: limiter.Per(limit, window), Cost: 1}}
		return func(key string) (bool, error) {
			charges[0].Key = key
			return store.Take(context.Background(), charges)
		}
	}, err
}

// shared is the session of limiters that goroutines share as they are.
func shared(take Take) func() Take { return func() Take { return take } }
