package main

import (
	"context"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/redisstore"
	"github.com/redis/go-redis/v9"
)

func redisSubjects() []subject {
	return []subject{
		{name: "none", open: none, runs: allowed, kind: floor},
		{name: "incr+time", open: incrTime, runs: allowed, kind: floor},
		{name: "grouped-incr+time", open: groupedIncrTime, runs: crowded, kind: floor},
		{name: "evalsha", open: evalsha, runs: always},
		{name: "httplimit", open: allowing, runs: always},
		{name: "httplimit-take", open: taking, runs: busiest, kind: variant},
		{name: "httplimit-nocache", open: allowingNoCache, runs: refused, kind: variant},
		{name: "redis_rate", open: redisRate, runs: always},
		{name: "redis_rate-autopipeline", open: redisRateAutoPipeline, runs: crowded, kind: variant},
		{name: "rueidislimiter", open: rueidisLimiter, runs: always},
		{name: "rueidislimiter-tuned", open: rueidisLimiterTuned, runs: crowded, kind: variant},
		{name: "ulule", open: ululeRedis, runs: always},
		{name: "throttled", open: throttledRedis, runs: unpaced},
		{name: "httprate-redis", open: httprateRedis, runs: unpaced},
	}
}

// newClient has as many connections for everybody: at most one for each of 64 callers.
func newClient(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: addr, PoolSize: 64, ContextTimeoutEnabled: true})
}

func closeClient(client *redis.Client) func() { return func() { _ = client.Close() } }

// evalsha is the least that a limiter with a script of its own for each caller can do: one call, and one command in it.
// It counts a fixed window.
func evalsha(addr string, limit int64, window time.Duration) (*opened, error) {
	client := newClient(addr)
	script := redis.NewScript(`local n = redis.call('INCR', KEYS[1])
if n == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return n`)
	millis := window.Milliseconds()
	return shared(func(ctx context.Context, key string) (bool, error) {
		n, err := script.Run(ctx, client, []string{key}, millis).Int64()
		return n <= limit, err
	}, closeClient(client)), nil
}

// allowing is the public call, Limiter.Allow.
func allowing(addr string, limit int64, window time.Duration) (*opened, error) {
	return allowingWith(addr, redisstore.Config{}, limiter.Per(limit, window))
}

// allowingNoCache asks the server for every refusal.
func allowingNoCache(addr string, limit int64, window time.Duration) (*opened, error) {
	return allowingWith(addr, redisstore.Config{DenyCache: -1}, limiter.Per(limit, window))
}

func allowingWith(addr string, cfg redisstore.Config, limit limiter.Limit) (*opened, error) {
	client := newClient(addr)
	store, err := newStore(client, cfg)
	if err != nil {
		return nil, err
	}
	l, err := limiter.New(store, "api/ip", limit)
	if err != nil {
		return nil, err
	}
	return shared(func(ctx context.Context, key string) (bool, error) {
		d, err := l.Allow(ctx, key)
		return d.Allowed, err
	}, closeClient(client)), nil
}

// taking is what the middleware calls.
func taking(addr string, limit int64, window time.Duration) (*opened, error) {
	client := newClient(addr)
	store, err := newStore(client, redisstore.Config{})
	if err != nil {
		return nil, err
	}
	return &opened{session: charging(store, limiter.Per(limit, window)), close: closeClient(client)}, nil
}

// patience is for callers that are not asked for time: 64 that find all their answers in memory leave little of the
// processors to those who wait for the network. How long decisions took is measured.
const patience = 10 * time.Second

func newStore(client *redis.Client, cfg redisstore.Config) (*redisstore.Store, error) {
	cfg.Timeout = patience
	return redisstore.New(client, cfg)
}

// charging keeps a charge, as the middleware does.
func charging(store limiter.Store, limit limiter.Limit) func() take {
	return func() take {
		charges := []limiter.Charge{{Scope: "api/ip", Limit: limit, Cost: 1}}
		return func(ctx context.Context, key string) (bool, error) {
			charges[0].Key = key
			return store.Take(ctx, charges)
		}
	}
}
