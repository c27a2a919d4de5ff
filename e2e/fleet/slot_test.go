package fleet_test

import (
	"net"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit/e2e/servers"
)

// slot is a hash slot of a cluster that a test moves, by the steps of the Redis Cluster specification.
type slot struct {
	number  int
	masters []*redis.Client
	ids     []string // of the masters
	addrs   []string
	at      int // the master that owns it
}

// slotOf is the slot in which all counters of a client lie.
func slotOf(t *testing.T, cluster *servers.Cluster, client string) *slot {
	t.Helper()
	s := &slot{addrs: cluster.Addrs()}
	for _, addr := range s.addrs {
		master := operator(t, addr)
		s.masters = append(s.masters, master)
		s.ids = append(s.ids, text(t, master, "CLUSTER", "MYID"))
	}
	number, err := s.masters[0].ClusterKeySlot(t.Context(), "{"+client+"}").Result()
	if err != nil {
		t.Fatal(err)
	}
	s.number = int(number)
	shards, err := s.masters[0].ClusterShards(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, shard := range shards {
		if r := shard.Slots[0]; r.Start <= number && number <= r.End {
			s.at = slices.Index(s.ids, shard.Nodes[0].ID)
		}
	}
	return s
}

// next is the master to which the slot moves next.
func (s *slot) next() int { return (s.at + 1) % len(s.masters) }

// open begins the move: from now on the owner redirects clients to the next one for keys that it does not have.
func (s *slot) open(t *testing.T) {
	t.Helper()
	text(t, s.masters[s.next()], "CLUSTER", "SETSLOT", s.number, "IMPORTING", s.ids[s.at])
	text(t, s.masters[s.at], "CLUSTER", "SETSLOT", s.number, "MIGRATING", s.ids[s.next()])
}

// keys are those that the owner still has, up to so many.
func (s *slot) keys(t *testing.T, most int) []string {
	t.Helper()
	keys, err := s.masters[s.at].ClusterGetKeysInSlot(t.Context(), s.number, most).Result()
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// move moves keys.
func (s *slot) move(t *testing.T, keys ...string) {
	t.Helper()
	host, port, err := net.SplitHostPort(s.addrs[s.next()])
	if err != nil {
		t.Fatal(err)
	}
	command := []any{"MIGRATE", host, port, "", 0, patient.Milliseconds(), "KEYS"}
	for _, key := range keys {
		command = append(command, key)
	}
	if got := text(t, s.masters[s.at], command...); got != "OK" {
		t.Fatalf("%v: got %s, want OK", command, got)
	}
}

// close moves the rest of the keys and announces the new owner to all masters, to that owner first: otherwise clients
// would be redirected in circles.
func (s *slot) close(t *testing.T) {
	t.Helper()
	for keys := s.keys(t, 100); len(keys) > 0; keys = s.keys(t, 100) {
		s.move(t, keys...)
	}
	s.at = s.next()
	for i := range s.masters {
		text(t, s.masters[(s.at+i)%len(s.masters)], "CLUSTER", "SETSLOT", s.number, "NODE", s.ids[s.at])
	}
}
