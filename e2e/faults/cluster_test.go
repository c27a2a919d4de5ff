package faults_test

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/e2e/servers"
	"github.com/httplimit/httplimit/limiter/redisstore"
)

// One of three masters is away: the policy decides for clients whose counters lie there, and no other client notices.
func TestClusterMasterAway(t *testing.T) {
	t.Parallel()
	const away = 1
	for _, row := range []struct {
		name        string
		fault, heal func(*servers.Server, testing.TB)
		loses       bool
	}{
		{"killed", (*servers.Server).Kill, (*servers.Server).Restart, true},
		{"silent", (*servers.Server).Pause, (*servers.Server).Resume, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			beside(t)
			cluster := servers.RedisCluster(t, "--cluster-require-full-coverage", "no")
			client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: cluster.Addrs(), ContextTimeoutEnabled: true})
			t.Cleanup(func() { client.Close() })
			store := redisStore(t, client, redisstore.Config{Timeout: timeout})
			s := startService(t, store)
			names := namesByMaster(t, client)
			for _, name := range names {
				s.spend(t, name)
			}

			row.fault(cluster.Masters[away], t)
			down := time.Now()
			stop := make(chan struct{})
			var others sync.WaitGroup
			for i, name := range names {
				if i != away {
					others.Go(func() { s.undisturbed(t, name, stop) })
				}
			}
			for n := 0; n < 100 || store.Healthy(); n++ {
				got := s.ask(closed, names[away])
				if got.fault != "" || got.status != http.StatusServiceUnavailable || got.end.Sub(got.start) > s.longest() {
					t.Errorf("a client of the master that is away: got %d %s after %v, want 503 within %v", got.status, got.fault,
						got.end.Sub(got.start), s.longest())
				}
				if time.Since(down) > patience {
					t.Fatalf("the master's breaker did not open")
				}
			}
			row.heal(cluster.Masters[away], t)
			servers.Await(t, "the master decides again",
				func() bool { return s.ask(closed, names[away]).status == http.StatusOK })
			close(stop)
			others.Wait()
			cluster.AwaitOK(t)
			checkMasters(t, s, names, away, row.loses)
		})
	}
}

// namesByMaster finds a client for each of the masters.
func namesByMaster(t *testing.T, client *redis.ClusterClient) []string {
	t.Helper()
	const slots, masters = 16384, 3
	names := make([]string, masters)
	for found, i := 0, 0; found < masters; i++ {
		name := "client" + strconv.Itoa(i)
		slot, err := client.ClusterKeySlot(context.Background(), "{"+name+"}").Result()
		if err != nil {
			t.Fatal(err)
		}
		if master := slot * masters / slots; names[master] == "" {
			names[master] = name
			found++
		}
	}
	return names
}

// spend uses up a client's quota.
func (s *service) spend(t *testing.T, name string) {
	t.Helper()
	for n := 0; n < quota; {
		if got := s.ask(local, name); got.fault != "" {
			t.Fatal(got.fault)
		} else if got.status == http.StatusOK {
			n++
		}
	}
}

// undisturbed asks until stop, and every answer is the store's.
func (s *service) undisturbed(t *testing.T, name string, stop <-chan struct{}) {
	var replies []reply
	for {
		select {
		case <-stop:
			s.checkReplies(t, replies)
			s.checkWell(t, replies, func(start, end time.Time) bool { return true })
			return
		case <-time.After(pause):
			s.probe()
		}
		replies = append(replies, s.ask(closed, name))
		if got := s.ask(local, name); got.status == http.StatusOK && got.end.Sub(got.start) < timeout {
			t.Errorf("%s, whose master is there, got more than its quota", name)
		}
	}
}

// checkMasters checks how much the store admits afterwards: at most its quota to the client whose counts were lost, and
// nothing to the others.
func checkMasters(t *testing.T, s *service, names []string, away int, loses bool) {
	t.Helper()
	for i, name := range names {
		before := s.seen.of(local, httplimit.SourceStore, httplimit.ResultAllowed)
		for range 2 * quota {
			s.ask(local, name)
		}
		most := 0
		if i == away && loses {
			most = quota
		}
		if got := s.seen.of(local, httplimit.SourceStore, httplimit.ResultAllowed) - before; got > most {
			t.Errorf("%s got %d more than its quota, want at most %d", name, got, most)
		}
	}
}
