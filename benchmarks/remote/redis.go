package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/go-chi/httprate"
	httprateredis "github.com/go-chi/httprate-redis"
	"github.com/go-redis/redis_rate/v10"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/redisstore"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislimiter"
	"github.com/throttled/throttled/v2"
	throttledstore "github.com/throttled/throttled/v2/store/goredisstore.v9"
	ulule "github.com/ulule/limiter/v3"
	ululestore "github.com/ulule/limiter/v3/drivers/store/redis"
)

func redisSubjects() []subject {
	return []subject{
		{"none", none, allowed},
		{"evalsha", evalsha, both},
		{"own-script", ownScript, both},
		{"grouped-incr", groupedIncr, allowed},
		{"httplimit", httplimit, both},
		{"httplimit-nocache", httplimitNoCache, refused},
		{"httplimit-strict", httplimitStrict, both},
		{"httplimit-strict-nocache", httplimitStrictNoCache, refused},
		{"redis_rate", redisRate, both},
		{"rueidislimiter", rueidisLimiter, both},
		{"ulule", ululeRedis, both},
		{"throttled", throttledRedis, both},
		{"httprate-redis", httprateRedis, both},
	}
}

// newClient has as many connections for everybody: at most one for each of 64 callers.
func newClient(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: addr, PoolSize: 64, ContextTimeoutEnabled: true})
}

func closeClient(client *redis.Client) func() { return func() { _ = client.Close() } }

// evalsha is the least that a limiter with a script can do: one call, and one command in it. It counts a fixed window.
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

func httplimit(addr string, limit int64, window time.Duration) (*opened, error) {
	return httplimitStore(addr, limiter.Per(limit, window), redisstore.Config{})
}

// httplimitNoCache asks the server for every refusal.
func httplimitNoCache(addr string, limit int64, window time.Duration) (*opened, error) {
	return httplimitStore(addr, limiter.Per(limit, window), redisstore.Config{DenyCache: -1})
}

func httplimitStrict(addr string, limit int64, window time.Duration) (*opened, error) {
	return httplimitStore(addr, strict(limit, window), redisstore.Config{})
}

func httplimitStrictNoCache(addr string, limit int64, window time.Duration) (*opened, error) {
	return httplimitStore(addr, strict(limit, window), redisstore.Config{DenyCache: -1})
}

func strict(limit int64, window time.Duration) limiter.Limit {
	return limiter.Limit{Requests: limit, Window: window, Algorithm: limiter.StrictWindow}
}

// patience is for callers that are not asked for time: 64 that find all their answers in memory leave little of the
// processors to those who wait for the network. How long decisions took is measured.
const patience = 10 * time.Second

func httplimitStore(addr string, limit limiter.Limit, cfg redisstore.Config) (*opened, error) {
	client := newClient(addr)
	cfg.Timeout = patience
	store, err := redisstore.New(client, cfg)
	if err != nil {
		return nil, err
	}
	return &opened{session: charging(store, limit), close: closeClient(client)}, nil
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

func redisRate(addr string, limit int64, window time.Duration) (*opened, error) {
	client := newClient(addr)
	l := redis_rate.NewLimiter(client)
	rate := redis_rate.Limit{Rate: int(limit), Burst: int(limit), Period: window}
	return shared(func(ctx context.Context, key string) (bool, error) {
		answer, err := l.Allow(ctx, key, rate)
		return err == nil && answer.Allowed > 0, err
	}, closeClient(client)), nil
}

func rueidisLimiter(addr string, limit int64, window time.Duration) (*opened, error) {
	var client rueidis.Client
	l, err := rueidislimiter.NewRateLimiter(rueidislimiter.RateLimiterOption{
		ClientOption: rueidis.ClientOption{InitAddress: []string{addr}},
		ClientBuilder: func(option rueidis.ClientOption) (_ rueidis.Client, err error) {
			client, err = rueidis.NewClient(option)
			return client, err
		},
		Limit: int(limit), Window: window,
	})
	if err != nil {
		return nil, err
	}
	return shared(func(ctx context.Context, key string) (bool, error) {
		answer, err := l.Allow(ctx, key)
		return answer.Allowed, err
	}, client.Close), nil
}

func ululeRedis(addr string, limit int64, window time.Duration) (*opened, error) {
	client := newClient(addr)
	store, err := ululestore.NewStore(client)
	if err != nil {
		return nil, err
	}
	l := ulule.New(store, ulule.Rate{Period: window, Limit: limit})
	return shared(func(ctx context.Context, key string) (bool, error) {
		answer, err := l.Get(ctx, key)
		return !answer.Reached, err
	}, closeClient(client)), nil
}

func throttledRedis(addr string, limit int64, window time.Duration) (*opened, error) {
	client := newClient(addr)
	store, err := throttledstore.NewCtx(client, "throttled:")
	if err != nil {
		return nil, err
	}
	quota := throttled.RateQuota{MaxRate: throttled.PerDuration(int(limit), window), MaxBurst: int(limit) - 1}
	l, err := throttled.NewGCRARateLimiterCtx(store, quota)
	if err != nil {
		return nil, err
	}
	l.SetMaxCASAttemptsLimit(1000) // with its own 10 it fails when several callers ask for one key
	return shared(func(ctx context.Context, key string) (bool, error) {
		limited, _, err := l.RateLimitCtx(ctx, key, 1)
		return !limited, err
	}, closeClient(client)), nil
}

// httprateRedis tells of a failure in the answer only: it refuses.
func httprateRedis(addr string, limit int64, window time.Duration) (*opened, error) {
	client := newClient(addr)
	l := httprate.NewRateLimiter(int(limit), window,
		httprate.WithResponseHeaders(httprate.ResponseHeaders{}),
		httprateredis.WithRedisLimitCounter(&httprateredis.Config{Client: client, FallbackDisabled: true}))
	session := func() take {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
		return func(_ context.Context, key string) (bool, error) { return !l.OnLimit(w, r, key), nil }
	}
	return &opened{session: session, close: closeClient(client)}, nil
}
