package memory

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/didip/tollbooth/v8"
	tollboothlimiter "github.com/didip/tollbooth/v8/limiter"
	"github.com/go-chi/httprate"
	"github.com/labstack/echo/v4/middleware"
	"github.com/sethvargo/go-limiter/memorystore"
	"github.com/throttled/throttled/v2"
	throttledstore "github.com/throttled/throttled/v2/store/memstore"
	ulule "github.com/ulule/limiter/v3"
	ululestore "github.com/ulule/limiter/v3/drivers/store/memory"
	"golang.org/x/time/rate"
)

// httprate has no decision without HTTP. Without header names OnLimit writes none.
func httprateOnLimit(limit int64, window time.Duration, _ int) (func() Take, error) {
	l := httprate.NewRateLimiter(int(limit), window, httprate.WithResponseHeaders(httprate.ResponseHeaders{}))
	return func() Take {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
		return func(key string) (bool, error) { return !l.OnLimit(w, r, key), nil }
	}, nil
}

func ululeGet(limit int64, window time.Duration, _ int) (func() Take, error) {
	l := ulule.New(ululestore.NewStore(), ulule.Rate{Period: window, Limit: limit})
	return shared(func(key string) (bool, error) {
		c, err := l.Get(context.Background(), key)
		return !c.Reached, err
	}), nil
}

func goLimiterTake(limit int64, window time.Duration, _ int) (func() Take, error) {
	store, err := memorystore.New(&memorystore.Config{Tokens: uint64(limit), Interval: window})
	return shared(func(key string) (bool, error) {
		_, _, _, ok, err := store.Take(context.Background(), key)
		return ok, err
	}), err
}

func throttledMap(limit int64, window time.Duration, _ int) (func() Take, error) {
	return throttledGCRA(limit, window, 0)
}

func throttledLRU(limit int64, window time.Duration, keys int) (func() Take, error) {
	return throttledGCRA(limit, window, keys)
}

func throttledGCRA(limit int64, window time.Duration, keys int) (func() Take, error) {
	store, err := throttledstore.NewCtx(keys)
	if err != nil {
		return nil, err
	}
	quota := throttled.RateQuota{MaxRate: throttled.PerDuration(int(limit), window), MaxBurst: int(limit) - 1}
	l, err := throttled.NewGCRARateLimiterCtx(store, quota)
	if err != nil {
		return nil, err
	}
	l.SetMaxCASAttemptsLimit(1_000_000) // with its own 10 it fails when several goroutines ask for one key
	return shared(func(key string) (bool, error) {
		limited, _, err := l.RateLimitCtx(context.Background(), key, 1)
		return !limited, err
	}), nil
}

func tollboothReached(limit int64, window time.Duration, _ int) (func() Take, error) {
	options := tollboothlimiter.ExpirableOptions{DefaultExpirationTTL: window}
	l := tollbooth.NewLimiter(float64(limit)/window.Seconds(), &options).SetBurst(int(limit))
	return shared(func(key string) (bool, error) { return !l.LimitReached(key), nil }), nil
}

// xtimeMap is what many programs write themselves.
func xtimeMap(limit int64, window time.Duration, _ int) (func() Take, error) {
	var mu sync.Mutex
	limiters := make(map[string]*rate.Limiter)
	every := rate.Limit(float64(limit) / window.Seconds())
	return shared(func(key string) (bool, error) {
		mu.Lock()
		l, ok := limiters[key]
		if !ok {
			l = rate.NewLimiter(every, int(limit))
			limiters[key] = l
		}
		mu.Unlock()
		return l.Allow(), nil
	}), nil
}

func echoAllow(limit int64, window time.Duration, _ int) (func() Take, error) {
	store := middleware.NewRateLimiterMemoryStoreWithConfig(middleware.RateLimiterMemoryStoreConfig{
		Rate: rate.Limit(float64(limit) / window.Seconds()), Burst: int(limit), ExpiresIn: window,
	})
	return shared(store.Allow), nil
}
