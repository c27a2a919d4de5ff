package fleet_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit/e2e/servers"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/redisstore"
)

// A master of a Cluster is killed and its replica takes over. Then every key is decided and the store is healthy,
// although the master that is gone never answers again: the topology does not name it any more.
func TestClusterFailover(t *testing.T) {
	t.Parallel()
	const keys = 60
	cluster := servers.ReplicatedCluster(t)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: cluster.Addrs(), ContextTimeoutEnabled: true})
	t.Cleanup(func() { client.Close() })
	store := newStore(t, client, redisstore.Config{Timeout: redisstore.DefaultTimeout, DenyCache: noCache})
	decided := func() (n int) {
		for i := range keys {
			charges := []limiter.Charge{{Scope: "scope", Key: fmt.Sprint(i), Limit: limiter.PerDay(1_000_000), Cost: 1}}
			if _, err := store.Take(t.Context(), charges); err == nil {
				n++
			}
		}
		return n
	}
	servers.Await(t, "all keys are decided", func() bool { return decided() == keys })
	wantServers(t, store, cluster.Addrs()...)
	cluster.Masters[1].Kill(t)
	killed := time.Now()
	servers.Await(t, "the store is not healthy", func() bool { decided(); return !store.Healthy() })
	for _, s := range store.Stats().Servers {
		if dead := s.Address == cluster.Masters[1].Addr(); s.Healthy == dead || dead != (s.Cause != "") {
			t.Errorf("stats of a server that is killed %v: got %+v", dead, s)
		}
	}
	servers.Await(t, "all keys are decided again", func() bool { return decided() == keys })
	t.Logf("decided again %v after the master was killed, with a cluster-node-timeout of 2s", time.Since(killed))
	servers.Await(t, "the store is healthy again", func() bool { decided(); return store.Healthy() })
	wantServers(t, store, cluster.Masters[0].Addr(), cluster.Replicas[1].Addr(), cluster.Masters[2].Addr())
}

// wantServers checks which servers the store knows, and that all are healthy.
func wantServers(t *testing.T, store *redisstore.Store, addrs ...string) {
	t.Helper()
	got := map[string]bool{}
	for _, s := range store.Stats().Servers {
		got[s.Address] = s.Healthy && s.Calls > 0 && !s.Since.IsZero() && s.Cause == "" && s.NextProbe.IsZero()
	}
	for _, addr := range addrs {
		if !got[addr] {
			t.Errorf("the servers of the store: got %v, want %v, all healthy", got, addrs)
		}
	}
	if len(got) != len(addrs) {
		t.Errorf("the servers of the store: got %v, want %v", got, addrs)
	}
}
