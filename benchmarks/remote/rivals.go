package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/go-chi/httprate"
	httprateredis "github.com/go-chi/httprate-redis"
	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislimiter"
	"github.com/throttled/throttled/v2"
	throttledstore "github.com/throttled/throttled/v2/store/goredisstore.v9"
	ulule "github.com/ulule/limiter/v3"
	ululestore "github.com/ulule/limiter/v3/drivers/store/redis"
)

func redisRate(addr string, limit int64, window time.Duration) (*opened, error) {
	client := newClient(addr)
	return &opened{
		session: redisRateSession(redis_rate.NewLimiter(client), limit, window),
		close:   closeClient(client),
	}, nil
}

func redisRateSession(l *redis_rate.Limiter, limit int64, window time.Duration) func() take {
	rate := redis_rate.Limit{Rate: int(limit), Burst: int(limit), Period: window}
	decide := func(ctx context.Context, key string) (bool, error) {
		answer, err := l.Allow(ctx, key, rate)
		return err == nil && answer.Allowed > 0, err
	}
	return func() take { return decide }
}

// rueidisLimiter has rueidis' options as they are: four connections, commands of concurrent callers in a pipeline.
func rueidisLimiter(addr string, limit int64, window time.Duration) (*opened, error) {
	return rueidisLimiterWith(rueidis.ClientOption{InitAddress: []string{addr}}, limit, window)
}

func rueidisLimiterWith(options rueidis.ClientOption, limit int64, window time.Duration) (*opened, error) {
	client, err := rueidis.NewClient(options)
	if err != nil {
		return nil, err
	}
	l, err := newRueidisLimiter(client, "", limit, window)
	if err != nil {
		return nil, err
	}
	return shared(func(ctx context.Context, key string) (bool, error) {
		answer, err := l.Allow(ctx, key)
		return answer.Allowed, err
	}, client.Close), nil
}

func newRueidisLimiter(
	client rueidis.Client,
	prefix string,
	limit int64,
	window time.Duration,
) (rueidislimiter.RateLimiterClient, error) {
	return rueidislimiter.NewRateLimiter(rueidislimiter.RateLimiterOption{
		ClientBuilder: func(rueidis.ClientOption) (rueidis.Client, error) { return client, nil },
		KeyPrefix:     prefix,
		Limit:         int(limit),
		Window:        window,
	})
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
