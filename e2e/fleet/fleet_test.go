// Package fleet_test holds redisstore against the kinds of Redis that several instances of a service share: a
// Cluster whose slots move, a primary that fails over, a Ring, TLS, and an account that may do no more than it must.
package fleet_test

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit/e2e/servers"
	"github.com/httplimit/httplimit/limiter/limitertest"
	"github.com/httplimit/httplimit/limiter/redisstore"
)

const (
	// patient is a time-out for tests that are not about time: many callers under the race detector on a busy machine.
	patient = 20 * time.Second

	// still is a window that has no boundary while a test runs, but for one moment in three hundred days.
	still = 300 * 24 * time.Hour

	noCache = -1
)

func TestMain(m *testing.M) {
	if addr := os.Getenv(callerEnv); addr != "" {
		if err := process(addr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if addr := os.Getenv(inFlightEnv); addr != "" {
		if err := inFlightProcess(addr, os.Getenv(inFlightName)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(servers.Main(m))
}

func newStore(t *testing.T, client redis.UniversalClient, cfg redisstore.Config) *redisstore.Store {
	t.Helper()
	if cfg.Prefix == "" {
		cfg.Prefix = prefix
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = patient
	}
	store, err := redisstore.New(client, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// conform runs the suite that every store passes.
func conform(t *testing.T, client redis.UniversalClient) {
	t.Helper()
	run := 0
	limitertest.Run(t, func(t *testing.T) limitertest.Harness {
		run++
		return limitertest.Harness{Store: newStore(t, client, redisstore.Config{Prefix: fmt.Sprint(prefix, run, ":")})}
	})
}

// wantKeys fails the test unless a server holds keys, of which each must end.
func wantKeys(t *testing.T, addr string) {
	t.Helper()
	client := operator(t, addr)
	keys, err := client.Keys(t.Context(), prefix+"*").Result()
	if err != nil || len(keys) == 0 {
		t.Errorf("the server at %s has keys %v, error %v, want its share", addr, keys, err)
	}
	for _, key := range keys {
		if life := client.PTTL(t.Context(), key); life.Err() != nil || life.Val() == -1 {
			t.Errorf("%s never ends, error %v", key, life.Err())
		}
	}
}

// operator returns a client that may do everything.
func operator(t *testing.T, addr string) *redis.Client {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { client.Close() })
	return client
}

// text sends a command that has no reason to fail and returns its answer.
func text(t *testing.T, client *redis.Client, command ...any) string {
	t.Helper()
	answer, err := client.Do(t.Context(), command...).Text()
	if err != nil {
		t.Fatalf("%v: %v", command, err)
	}
	return answer
}

// awaitMore returns when n has grown by so much since the call, or when the test has failed.
func awaitMore(t *testing.T, what string, n *atomic.Int64, by int64) {
	t.Helper()
	first := n.Load()
	servers.Await(t, what, func() bool { return t.Failed() || n.Load()-first >= by })
}
