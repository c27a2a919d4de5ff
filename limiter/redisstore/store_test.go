package redisstore_test

import (
	"fmt"
	"testing"

	"github.com/httplimit/httplimit/limiter/limitertest"
	"github.com/httplimit/httplimit/limiter/redisstore"
)

func TestStoreOnFakeServer(t *testing.T) {
	limitertest.Run(t, func(t *testing.T) limitertest.Harness {
		server := startFake(t)
		store := newStore(t, connect(t, server.Addr()), redisstore.Config{DenyCache: -1})
		return limitertest.Harness{Store: store, Advance: server.advance}
	})
}

func TestStoreOnServer(t *testing.T) {
	client := connect(t, startRedis(t))
	run := 0
	limitertest.Run(t, func(t *testing.T) limitertest.Harness {
		run++
		return limitertest.Harness{Store: newStore(t, client, redisstore.Config{Prefix: fmt.Sprint("run", run, ":")})}
	})
}
