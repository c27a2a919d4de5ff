package fleet_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit/e2e/servers"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/redisstore"
)

// Units that the replica had not received when the primary died can be spent again, and no others.
func TestFailoverLosesWhatWasNotReplicated(t *testing.T) {
	t.Parallel()
	group := servers.RedisSentinel(t)
	store := failoverStore(t, group)
	const limit, replicated, lost = 150, 100, 30

	spend(t, store, limit, replicated)
	awaitReplica(t, group)
	// The replica stands still and loses its connection, so that nothing waits for it in a buffer.
	group.Replica.Pause(t)
	if n, err := operator(t, group.Primary.Addr()).ClientKillByFilter(t.Context(), "TYPE", "replica").Result(); n != 1 ||
		err != nil {
		t.Fatalf("the primary cut off %d replicas, error %v, want one", n, err)
	}
	spend(t, store, limit, lost)
	group.Primary.Kill(t)
	group.Replica.Resume(t)
	group.AwaitPrimary(t, group.Replica)

	awaitDecision(t, store)
	spend(t, store, limit, limit-replicated)
	if taken, err := store.Take(t.Context(), []limiter.Charge{hot(limit, 1)}); taken || err != nil {
		t.Errorf("beyond the limit of %d and the %d that were lost: got %v, %v, want a refusal", limit, lost, taken, err)
	}
}

// The primary dies under load. Until the replica has taken over, callers get errors. Without any intervention they are
// then admitted again: once more for each unit of which the replica did not know.
func TestFailoverUnderLoad(t *testing.T) {
	t.Parallel()
	group := servers.RedisSentinel(t)
	store := failoverStore(t, group)
	awaitDecision(t, store)
	const limit = 20_000 // more than is asked for while the primary lives
	var seen admissions
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() { seen.collect(t, store, limit) })
	}
	awaitMore(t, "admissions", &seen.allowed, 500)
	confirmed := seen.allowed.Load()
	awaitReplica(t, group)
	awaitMore(t, "admissions that may get lost", &seen.allowed, 100)
	group.Primary.Kill(t)
	seen.killed.Store(time.Now().UnixMilli())
	callers.Wait()

	before, after := seen.split()
	if len(before) == 0 || len(after) == 0 {
		t.Fatalf("admitted %d before the failover and %d after it, want some of both", len(before), len(after))
	}
	if once := slices.Compact(slices.Clone(before)); len(once) != len(before) {
		t.Errorf("before the failover %d were admitted on %d counts", len(before), len(once))
	}
	if once := slices.Compact(slices.Clone(after)); len(once) != len(after) {
		t.Errorf("after the failover %d were admitted on %d counts", len(after), len(once))
	}
	replicaHad := after[0] // when it took over
	if replicaHad < confirmed {
		t.Errorf("the new primary knew of %d units, want at least the %d that it had confirmed", replicaHad, confirmed)
	}
	first, _ := slices.BinarySearch(before, replicaHad)
	lost := len(before) - first
	t.Logf("admitted %d before the failover, of which %d were lost, and %d after it", len(before), lost, len(after))
	if got := len(before) + len(after); got > limit+lost {
		t.Errorf("admitted %d, want at most the limit of %d and the %d that were lost", got, limit, lost)
	}
}

// admissions are the States on which callers were admitted: how many units were in use before.
type admissions struct {
	allowed atomic.Int64
	killed  atomic.Int64 // when the primary was gone, in Unix milliseconds of its own clock; 0 until then

	mu     sync.Mutex
	states []limiter.State
}

// collect takes units until the new primary refuses.
func (a *admissions) collect(t *testing.T, store *redisstore.Store, limit int64) {
	for deadline := time.Now().Add(3 * patient); time.Now().Before(deadline); {
		charges := []limiter.Charge{hot(limit, 1)}
		taken, err := store.Take(t.Context(), charges)
		switch killed := a.killed.Load(); {
		case err != nil:
			time.Sleep(time.Millisecond) // or errors would take the machine's time from the failover
		case taken:
			a.note(charges[0].State)
		case killed != 0 && charges[0].At > killed:
			return
		}
	}
	t.Errorf("no new primary has refused within %v", 3*patient)
}

func (a *admissions) note(s limiter.State) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.states = append(a.states, s)
	a.allowed.Add(1)
}

// split returns the counts, in order, on which the old primary admitted, and those on which the new one did.
func (a *admissions) split() (before, after []int64) {
	for _, s := range a.states {
		if s.At <= a.killed.Load() {
			before = append(before, s.Current)
		} else {
			after = append(after, s.Current)
		}
	}
	slices.Sort(before)
	slices.Sort(after)
	return before, after
}

func failoverStore(t *testing.T, group *servers.Sentinel) *redisstore.Store {
	t.Helper()
	addAccount(t, rules, group.Primary.Addr(), group.Replica.Addr())
	client := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: group.Name, SentinelAddrs: group.Addrs(),
		Username: user, Password: password,
		ContextTimeoutEnabled: true,
	})
	t.Cleanup(func() { client.Close() })
	return newStore(t, client, redisstore.Config{Timeout: 5 * time.Second, DenyCache: noCache})
}

func hot(limit, cost int64) limiter.Charge {
	return limiter.Charge{Scope: "scope", Key: "192.0.2.7", Limit: limiter.Per(limit, still), Cost: cost}
}

// spend takes so many units of the hot key, one by one.
func spend(t *testing.T, store *redisstore.Store, limit int64, units int) {
	t.Helper()
	for i := range units {
		if taken, err := store.Take(t.Context(), []limiter.Charge{hot(limit, 1)}); !taken || err != nil {
			t.Fatalf("unit %d of %d: got %v, %v, want it taken", i+1, units, taken, err)
		}
	}
}

// awaitDecision returns when the store decides.
func awaitDecision(t *testing.T, store *redisstore.Store) {
	t.Helper()
	servers.Await(t, "a decision of the store", func() bool {
		_, err := store.Take(t.Context(), []limiter.Charge{hot(1, 0)})
		return err == nil
	})
}

// awaitReplica returns when the replica has confirmed all that was decided before.
func awaitReplica(t *testing.T, group *servers.Sentinel) {
	t.Helper()
	primary := operator(t, group.Primary.Addr()).Conn()
	defer primary.Close()
	// WAIT is about the last write of its own connection.
	if err := primary.Set(t.Context(), "marker", 1, time.Minute).Err(); err != nil {
		t.Fatal(err)
	}
	if n, err := primary.Wait(t.Context(), 1, patient).Result(); n != 1 || err != nil {
		t.Fatalf("%d replicas have confirmed, error %v, want one", n, err)
	}
}
