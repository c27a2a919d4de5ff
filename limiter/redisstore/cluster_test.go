package redisstore_test

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/limitertest"
	"github.com/httplimit/httplimit/limiter/redisstore"
)

// startCluster starts a Redis Cluster of three masters and returns their addresses.
func startCluster(t testing.TB) []string {
	t.Helper()
	const slots = 16384
	addrs := make([]string, 3)
	for i := range addrs {
		_, bus, err := net.SplitHostPort(freeAddr(t))
		if err != nil {
			t.Fatal(err)
		}
		addrs[i] = startRedis(t, "--cluster-enabled", "yes", "--cluster-port", bus, "--cluster-node-timeout", "5000")
		node := connect(t, addrs[i])
		first, last := i*slots/len(addrs), (i+1)*slots/len(addrs)-1
		must(t, node.Do(t.Context(), "cluster", "set-config-epoch", i+1).Err())
		must(t, node.ClusterAddSlotsRange(t.Context(), first, last).Err())
		if i > 0 {
			host, port, err := net.SplitHostPort(addrs[0])
			must(t, err)
			firstBus, err := connect(t, addrs[0]).ConfigGet(t.Context(), "cluster-port").Result()
			must(t, err)
			must(t, node.Do(t.Context(), "cluster", "meet", host, port, firstBus["cluster-port"]).Err())
		}
	}
	for _, addr := range addrs {
		awaitCluster(t, connect(t, addr), len(addrs))
	}
	return addrs
}

// awaitCluster waits until a node knows all nodes and finds all slots served.
func awaitCluster(t testing.TB, node *redis.Client, nodes int) {
	t.Helper()
	var info string
	for range 2000 {
		info = node.ClusterInfo(t.Context()).Val()
		if strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:"+strconv.Itoa(nodes)) {
			return
		}
		<-time.After(10 * time.Millisecond)
	}
	t.Fatalf("the cluster does not form: %s", info)
}

func TestStoreOnCluster(t *testing.T) {
	t.Parallel()
	addrs := startCluster(t)
	for _, heeds := range []bool{true, false} {
		t.Run(fmt.Sprintf("ContextTimeoutEnabled %v", heeds), func(t *testing.T) {
			t.Parallel()
			client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs, ContextTimeoutEnabled: heeds})
			t.Cleanup(func() { client.Close() })
			conform(t, func(t *testing.T, run int64) limitertest.Harness {
				prefix := fmt.Sprintf("%v-%d:", heeds, run)
				return limitertest.Harness{Store: newStore(t, client, redisstore.Config{Prefix: prefix})}
			})
		})
	}
}

// ring returns a Ring of fake servers.
func ring(t *testing.T, shards int) *redis.Ring {
	t.Helper()
	addrs := map[string]string{}
	for i := range shards {
		addrs[fmt.Sprint("shard", i)] = startFake(t).Addr()
	}
	client := redis.NewRing(&redis.RingOptions{Addrs: addrs, ContextTimeoutEnabled: true})
	t.Cleanup(func() { client.Close() })
	return client
}

// unknown is a client of a type that this package has never heard of.
type unknown struct{ redis.UniversalClient }

func TestStoreOnOtherClients(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		client redis.UniversalClient
	}{
		{"a ring", ring(t, 3)},
		{"an unknown client", unknown{connect(t, startFake(t).Addr())}},
		{"an unknown client of a ring", unknown{ring(t, 3)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			store := newStore(t, tc.client, redisstore.Config{DenyCache: noCache})
			limit := limiter.Per(10, 300*24*time.Hour)
			var allowed atomic.Int64
			together(64, func(i int) {
				c := charge(fmt.Sprint("key", i%4), limit, 1)
				taken, err := store.Take(t.Context(), []limiter.Charge{c})
				if err != nil {
					t.Error(err)
				}
				if taken {
					allowed.Add(1)
				}
			})
			if got := allowed.Load(); got != 40 {
				t.Errorf("four keys with a limit of 10 let in %d, want 40", got)
			}
		})
	}
}

// keys are charges of two clients, which lie in two slots.
func keys(limit limiter.Limit, costs ...int64) []limiter.Charge {
	var charges []limiter.Charge
	for i, cost := range costs {
		charges = append(charges, charge(fmt.Sprint("client", i), limit, cost))
	}
	return charges
}

func TestBatchOverSlotsIsCompensated(t *testing.T) {
	t.Parallel()
	store := newStore(t, ring(t, 3), redisstore.Config{DenyCache: noCache})
	for _, algorithm := range everyAlgorithm {
		t.Run(algorithm.String(), func(t *testing.T) {
			limit := per(algorithm, 10, 300*24*time.Hour)
			taken, got := take(t, store, keys(limit, 3, 4, 10)...)
			if !taken || got[0].Remaining != 7 || got[1].Remaining != 6 || got[2].Remaining != 0 {
				t.Fatalf("a batch that fits: taken %v, %+v", taken, got)
			}
			taken, got = take(t, store, keys(limit, 5, -2, 1, 6)...)
			if taken {
				t.Fatal("a batch of which one key is full was taken")
			}
			for i, want := range []limiter.Decision{
				{Allowed: true, Remaining: 7}, {Allowed: true, Remaining: 6},
				{Allowed: false, Remaining: 0}, {Allowed: true, Remaining: 10},
			} {
				if got[i].Allowed != want.Allowed || got[i].Remaining != want.Remaining {
					t.Errorf("charge %d: allowed %v with %d left, want %v with %d",
						i, got[i].Allowed, got[i].Remaining, want.Allowed, want.Remaining)
				}
			}
			if got[2].RetryAfter <= 0 {
				t.Errorf("retry after %v, want the time until a unit is free", got[2].RetryAfter)
			}
			_, got = take(t, store, keys(limit, 0, 0, 0, 0)...)
			for i, want := range []int64{7, 6, 0, 10} {
				if got[i].Remaining != want {
					t.Errorf("key %d has %d left after a batch that was refused, want %d", i, got[i].Remaining, want)
				}
			}
			must(t, store.Reset(t.Context(), keys(limit, 1, 1, 1, 1)))
		})
	}
}

// Some services look like one server and are many.
func TestCrossSlotServiceIsAskedKeyByKey(t *testing.T) {
	t.Parallel()
	client := connect(t, startFake(t).Addr())
	client.AddHook(hook(refuseTwoSlots))
	store := newStore(t, client, redisstore.Config{DenyCache: noCache})
	limit := limiter.PerHour(10)
	if taken, got := take(t, store, keys(limit, 3, 4)...); !taken || got[0].Remaining != 7 || got[1].Remaining != 6 {
		t.Errorf("taken %v, %+v", taken, got)
	}
	together(64, func(i int) {
		if _, err := store.Take(t.Context(), keys(limit, 0, 0)); err != nil {
			t.Error(err)
		}
	})
}

// refuseTwoSlots answers scripts as a cluster does whose keys have different tags.
func refuseTwoSlots(_ context.Context, cmds []redis.Cmder) error {
	for _, cmd := range cmds {
		if !strings.HasPrefix(cmd.Name(), "eval") {
			continue
		}
		tags := map[string]bool{}
		for _, arg := range cmd.Args() {
			if key, ok := arg.(string); ok && strings.HasPrefix(key, redisstore.DefaultPrefix) {
				tag, _, _ := strings.Cut(key, "}")
				tags[tag] = true
			}
		}
		if len(tags) > 1 {
			return reply("CROSSSLOT Keys in request don't hash to the same slot")
		}
	}
	return nil
}
