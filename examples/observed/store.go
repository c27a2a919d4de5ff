package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
	"github.com/httplimit/httplimit/limiter/redisstore"
	"github.com/redis/go-redis/v9"
)

// accountStore counts in Redis, or in memory without one. The service starts while Redis is down.
func accountStore(o options, logger *slog.Logger) (limiter.Store, error) {
	if o.redis == "" {
		return memstore.New(memstore.Config{Name: "accounts"})
	}
	redis.SetLogger(clientLog{logger})
	client := redis.NewClient(&redis.Options{Addr: o.redis, ContextTimeoutEnabled: true})
	return redisstore.New(client, redisstore.Config{
		Prefix: "observed:", Name: "accounts", Timeout: o.timeout, Logger: logger,
	})
}

// clientLog takes go-redis' own lines to slog, at the level debug: during an outage they are many, and the cause stands
// in httplimit's line "the store cannot decide".
type clientLog struct{ logger *slog.Logger }

func (c clientLog) Printf(ctx context.Context, format string, values ...any) {
	if c.logger.Enabled(ctx, slog.LevelDebug) {
		c.logger.DebugContext(ctx, "go-redis: "+fmt.Sprintf(format, values...))
	}
}
