package faults_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit/e2e/faults/proxy"
	"github.com/httplimit/httplimit/e2e/servers"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/redisstore"
)

// usual is the default time-out of the store, which these rows are about.
const usual = redisstore.DefaultTimeout

// asking is callers that ask a store again and again, some at once.
type asking struct {
	decided, failed atomic.Int64
	latest          atomic.Pointer[error]
	stop            func()
}

func keepAsking(t *testing.T, store limiter.Store, callers int) *asking {
	t.Helper()
	a := &asking{}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			for ctx.Err() == nil {
				_, err := store.Take(context.Background(), []limiter.Charge{{
					Scope: "scope", Key: fmt.Sprint(i), Limit: limiter.PerDay(plenty), Cost: 1,
				}})
				if err == nil {
					a.decided.Add(1)
				} else {
					a.failed.Add(1)
					a.latest.Store(&err)
				}
				time.Sleep(pause / 5)
			}
		})
	}
	a.stop = sync.OnceFunc(func() { cancel(); all.Wait() })
	t.Cleanup(a.stop)
	return a
}

// more returns when so many more calls were decided.
func (a *asking) more(t *testing.T, n int64) {
	t.Helper()
	before := a.decided.Load()
	servers.Await(t, "decisions", func() bool { return a.decided.Load()-before >= n })
	if err := a.latest.Load(); err != nil {
		t.Logf("%d decided, %d failed, the latest with: %v", a.decided.Load(), a.failed.Load(), *err)
	}
}

// end returns when nobody asks any more, and no connection waits for an answer: go-redis would wait with it when the
// client is closed.
func (a *asking) end(t *testing.T, r *rig) {
	t.Helper()
	a.stop()
	r.proxy.Set(proxy.Fault{})
	servers.Await(t, "no connection is in use", r.idle)
}

// Twenty idle connections go silent, and new ones work. Their server is found well at once, not after one pause for
// each of them: as each probe of the breaker uses up one connection and doubles the pause, that took 15 seconds.
func TestSilentConnections(t *testing.T) {
	t.Parallel()
	for _, deaf := range []bool{false, true} {
		t.Run(fmt.Sprintf("ContextTimeoutEnabled %v", !deaf), func(t *testing.T) {
			beside(t)
			const connections, bound = 20, 6 * time.Second
			r := startRedis(t, options{pool: connections, timeout: usual, deaf: deaf})
			a := keepAsking(t, r.store, 1)
			a.more(t, 1)
			fillPool(t, r.client, connections)
			r.proxy.Mute()
			silent := time.Now()
			a.more(t, 50)
			if took := time.Since(silent); took > bound {
				t.Errorf("decisions were back after %v, want %v at most, for all connections together", took, bound)
			}
			servers.Await(t, "the store is healthy", r.store.Healthy)
			a.end(t, r)
		})
	}
}

// fillPool makes the pool hold that many idle connections.
//
// One less, as another may be in use. Those that a slow machine has lost meanwhile are made again.
func fillPool(t *testing.T, client *redis.Client, n int) {
	t.Helper()
	servers.Await(t, fmt.Sprintf("%d connections are idle", n-1), func() bool {
		var held []*redis.Conn
		for range n - 1 {
			conn := client.Conn()
			if err := conn.Ping(context.Background()).Err(); err != nil {
				t.Fatal(err)
			}
			held = append(held, conn)
		}
		for _, conn := range held {
			conn.Close()
		}
		return int(client.PoolStats().IdleConns) >= n-1
	})
}

// distant makes every answer come so much later.
func distant(latency time.Duration) proxy.Fault {
	return proxy.Fault{Answer: func([]byte) proxy.Action { return proxy.Action{Delay: latency} }}
}

// A round trip fits into the time-out, and the greeting of a connection, which takes several, does not. A new process
// reaches such a server, and finds it again after it has stalled.
func TestDistantServer(t *testing.T) {
	t.Parallel()
	for _, latency := range []time.Duration{20 * time.Millisecond, 40 * time.Millisecond} {
		for _, deaf := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v, ContextTimeoutEnabled %v", latency, !deaf), func(t *testing.T) {
				beside(t)
				r := startRedis(t, options{timeout: usual, deaf: deaf})
				r.proxy.Set(distant(latency))
				a := keepAsking(t, r.store, workers)
				a.more(t, 100)
				r.proxy.Set(proxy.Fault{Hold: true})
				servers.Await(t, "the breaker opens", func() bool { return !r.store.Healthy() })
				r.proxy.Set(distant(latency))
				a.more(t, 100)
				a.end(t, r)
			})
		}
	}
}
