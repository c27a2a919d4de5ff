package main

import (
	"context"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/rueidis"
)

// Rivals decide on one rule in a call, so that a second rule takes a second one, after the first. What the first has
// spent stays spent where the second refuses: they do less than rules that are decided in one step.

func redisRateEach(multiples []time.Duration) func(string, int64, time.Duration) (*opened, error) {
	return func(addr string, limit int64, window time.Duration) (*opened, error) {
		client := newClient(addr)
		l := redis_rate.NewLimiter(client)
		var rules []take
		for _, times := range multiples {
			rules = append(rules, prefixed((times*window).String(), redisRateSession(l, limit, times*window)()))
		}
		return shared(oneAfterTheOther(rules), closeClient(client)), nil
	}
}

// rueidisLimiterEach is tuned as the one for a single rule.
func rueidisLimiterEach(multiples []time.Duration) func(string, int64, time.Duration) (*opened, error) {
	return func(addr string, limit int64, window time.Duration) (*opened, error) {
		client, err := rueidis.NewClient(tunedRueidis(addr))
		if err != nil {
			return nil, err
		}
		var rules []take
		for _, times := range multiples {
			l, err := newRueidisLimiter(client, (times * window).String(), limit, times*window)
			if err != nil {
				return nil, err
			}
			rules = append(rules, func(ctx context.Context, key string) (bool, error) {
				answer, err := l.Allow(ctx, key)
				return answer.Allowed, err
			})
		}
		return shared(oneAfterTheOther(rules), client.Close), nil
	}
}

func prefixed(prefix string, t take) take {
	return func(ctx context.Context, key string) (bool, error) { return t(ctx, prefix+":"+key) }
}

func oneAfterTheOther(rules []take) take {
	return func(ctx context.Context, key string) (bool, error) {
		for _, rule := range rules {
			if allowed, err := rule(ctx, key); err != nil || !allowed {
				return false, err
			}
		}
		return true, nil
	}
}
