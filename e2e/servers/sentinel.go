package servers

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
)

// Sentinel is a Redis primary with one replica, watched by three sentinels. When two of them miss the primary for
// half a second, the replica takes over.
type Sentinel struct {
	Name             string  // of the primary, as the sentinels know it
	Primary, Replica *Server // as they were in the beginning
	Sentinels        []*Server
}

// RedisSentinel starts the five servers and returns when a failover would succeed.
func RedisSentinel(t testing.TB) *Sentinel {
	t.Helper()
	s := &Sentinel{Name: "main"}
	s.Primary = Redis(t, "--repl-diskless-sync-delay", "0")
	s.Replica = Redis(t, "--repl-diskless-sync-delay", "0", "--replicaof", "127.0.0.1", strconv.Itoa(s.Primary.port))
	await(t, "replica", func() error {
		return expect(s.Replica.Addr(), []string{"INFO", "replication"}, "role:slave", "master_link_status:up")
	})
	for range 3 {
		s.Sentinels = append(s.Sentinels, s.startSentinel(t))
	}
	for _, sentinel := range s.Sentinels {
		await(t, "sentinel", func() error { return s.ready(sentinel) })
	}
	return s
}

// Addrs returns the addresses of the sentinels.
func (s *Sentinel) Addrs() []string { return addrs(s.Sentinels) }

// AwaitPrimary returns when every sentinel tells its clients to go to server, as after a failover.
func (s *Sentinel) AwaitPrimary(t testing.TB, server *Server) {
	t.Helper()
	for _, sentinel := range s.Sentinels {
		await(t, "failover", func() error {
			got, err := s.primaryAddr(sentinel)
			if err == nil && got != server.Addr() {
				err = fmt.Errorf("the primary is %s, want %s", got, server.Addr())
			}
			return err
		})
	}
}

func (s *Sentinel) primaryAddr(sentinel *Server) (string, error) {
	answer, err := ask(sentinel.Addr(), "SENTINEL", "GET-MASTER-ADDR-BY-NAME", s.Name)
	host, port, _ := strings.Cut(answer, "\n")
	return net.JoinHostPort(host, port), err
}

func (s *Sentinel) startSentinel(t testing.TB) *Server {
	t.Helper()
	sentinel := start(t, program{
		binary: "redis-server",
		config: "sentinel.conf", // in which it keeps what it learns
		args: func(port int) []string {
			return []string{"sentinel.conf", "--sentinel", "--port", strconv.Itoa(port), "--bind", "127.0.0.1"}
		},
		pid: redisPID,
	}, freePort)
	// They greet each other every tenth of a second, not every two seconds. And a busy machine that halts them for two
	// seconds is no clock that went wrong, after which they would do nothing for half a minute.
	mustAsk(t, sentinel.Addr(), "SENTINEL", "DEBUG", "publish-period", "100", "tilt-trigger", "60000")
	mustAsk(t, sentinel.Addr(), "SENTINEL", "MONITOR", s.Name, "127.0.0.1", strconv.Itoa(s.Primary.port), "2")
	mustAsk(t, sentinel.Addr(), "SENTINEL", "SET", s.Name, "down-after-milliseconds", "500", "failover-timeout", "3000")
	return sentinel
}

// ready returns nil if the sentinel knows the replica and both other sentinels, and may start a failover.
func (s *Sentinel) ready(sentinel *Server) error {
	known, err := ask(sentinel.Addr(), "INFO", "sentinel")
	if err != nil {
		return err
	}
	want := fmt.Sprintf("name=%s,status=ok,address=%s,slaves=1,sentinels=3", s.Name, s.Primary.Addr())
	if got := field(known, "master0"); got != want {
		return fmt.Errorf("sentinel at %s knows %q, want %q", sentinel.Addr(), got, want)
	}
	_, err = ask(sentinel.Addr(), "SENTINEL", "CKQUORUM", s.Name)
	return err
}
