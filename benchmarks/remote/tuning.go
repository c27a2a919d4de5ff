package main

import (
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/rueidis"
)

// Rivals as a user could have them who reads on in the documents of their clients. Each is what came out best of
// several; METHOD.md has the others.

// rueidisLimiterTuned waits a little after each write, so that the next one takes more commands along.
func rueidisLimiterTuned(addr string, limit int64, window time.Duration) (*opened, error) {
	return rueidisLimiterWith(tunedRueidis(addr), limit, window)
}

func tunedRueidis(addr string) rueidis.ClientOption {
	return rueidis.ClientOption{InitAddress: []string{addr}, MaxFlushDelay: 20 * time.Microsecond}
}

// redisRateAutoPipeline sends the scripts of concurrent callers in pipelines, which go-redis calls experimental.
func redisRateAutoPipeline(addr string, limit int64, window time.Duration) (*opened, error) {
	client := newClient(addr)
	pipelining, err := client.AutoPipeline()
	if err != nil {
		return nil, err
	}
	return &opened{
		session: redisRateSession(redis_rate.NewLimiter(pipelining), limit, window),
		close:   closeClient(client),
	}, nil
}
