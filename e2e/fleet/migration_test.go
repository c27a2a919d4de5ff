package fleet_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/httplimit/httplimit/e2e/servers"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/redisstore"
)

// A slot moves round the cluster, twice, while its client is served. No caller may get an error, and none may be
// admitted too often or refused too early: neither by counters that existed before, nor by those that are created while
// the slot is at two masters.
func TestSlotMovesUnderLoad(t *testing.T) {
	t.Parallel()
	cluster := servers.RedisCluster(t)
	l := &load{store: newStore(t, clusterClient(t, cluster), redisstore.Config{DenyCache: noCache}), client: "192.0.2.7"}
	moving := slotOf(t, cluster, l.client)

	var callers sync.WaitGroup
	for i := range 8 {
		callers.Go(func() { l.both(t) })
		callers.Go(func() { l.fresh(t, i) })
	}
	for range 2 * len(cluster.Masters) {
		awaitMore(t, "decisions before the move", &l.decided, 100)
		moving.open(t)
		awaitMore(t, "decisions when new counters are made at the new master", &l.decided, 100)
		moving.move(t, prefix+"{"+l.client+"}:scope:w:300d")
		awaitMore(t, "decisions when those of both are at two masters", &l.decided, 100)
		moving.close(t)
	}
	l.over.Store(true)
	callers.Wait()
	for range 8 {
		callers.Go(func() {
			for l.takeBoth(t) {
			}
		})
	}
	callers.Wait()
	if got := l.allowed.Load(); got != most {
		t.Errorf("admitted %d, want %d", got, most)
	}
}

// most is how often both counters of the client admit: more often than they are asked during the moves.
const most = 10_000

// load is the callers of one client.
type load struct {
	store  *redisstore.Store
	client string

	over    atomic.Bool
	decided atomic.Int64 // by counters that were created for it
	allowed atomic.Int64 // by both of the others
}

// both asks two counters at once, again and again.
func (l *load) both(t *testing.T) {
	for !l.over.Load() && !t.Failed() {
		l.takeBoth(t)
	}
}

func (l *load) takeBoth(t *testing.T) bool {
	taken, err := l.store.Take(t.Context(), []limiter.Charge{
		{Scope: "scope", Key: l.client, Limit: limiter.Per(most, still), Cost: 1},
		{Scope: "scope", Key: l.client, Limit: limiter.Limit{Requests: 2 * most, Window: still,
			Algorithm: limiter.FixedWindow}, Cost: 1},
	})
	if err != nil {
		t.Error(err)
	}
	if taken {
		l.allowed.Add(1)
	}
	return taken
}

// fresh asks twice for one unit of a counter that admits one, and goes on to the next counter.
func (l *load) fresh(t *testing.T, caller int) {
	for i := 0; !l.over.Load() && !t.Failed(); i++ {
		c := limiter.Charge{Scope: fmt.Sprint(caller, "-", i), Key: l.client, Limit: limiter.Per(1, still), Cost: 1}
		for _, want := range []bool{true, false} {
			taken, err := l.store.Take(t.Context(), []limiter.Charge{c})
			if taken != want || err != nil {
				t.Errorf("counter %s: got %v, %v, want %v", c.Scope, taken, err, want)
			}
			l.decided.Add(1)
		}
	}
}
