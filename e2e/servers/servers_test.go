package servers_test

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/httplimit/httplimit/e2e/servers"
)

func TestMain(m *testing.M) { servers.Main(m) }

func TestRedis(t *testing.T) {
	s := servers.Redis(t, "--maxmemory", "3mb")
	if got := say(t, s, "PING"); got != "+PONG" {
		t.Errorf("PING: got %q, want +PONG", got)
	}
	if got := say(t, s, "CONFIG GET maxmemory"); got != "*2" {
		t.Errorf("CONFIG GET maxmemory: got %q, want two elements", got)
	}
	if got := say(t, s, "CONFIG SET maxmemory 3145728"); got != "+OK" {
		t.Errorf("CONFIG SET: got %q, want +OK", got)
	}
}

func TestMemcached(t *testing.T) {
	s := servers.Memcached(t)
	if got := say(t, s, "version"); !strings.HasPrefix(got, "VERSION ") {
		t.Errorf("version: got %q, want VERSION ...", got)
	}
}

func TestKilledServerIsGoneUntilRestarted(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB, ...string) *servers.Server{
		"redis":     servers.Redis,
		"memcached": servers.Memcached,
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			addr := s.Addr()
			s.Kill(t)
			s.Kill(t)
			if conn, err := net.Dial("tcp", addr); err == nil {
				conn.Close()
				t.Fatalf("%s still accepts connections after Kill", addr)
			}
			s.Restart(t)
			if s.Addr() != addr {
				t.Errorf("address after Restart: got %s, want %s", s.Addr(), addr)
			}
			say(t, s, "version") // Redis answers with an error, and that is an answer too
		})
	}
}

func TestServerEndsWithItsTest(t *testing.T) {
	var addr string
	t.Run("inner", func(t *testing.T) { addr = servers.Redis(t).Addr() })
	if addr == "" {
		t.Skip("the inner test was skipped")
	}
	if conn, err := net.Dial("tcp", addr); err == nil {
		conn.Close()
		t.Errorf("%s still accepts connections after its test", addr)
	}
}

func TestPausedServerAnswersOnceResumed(t *testing.T) {
	t.Parallel()
	s := servers.Redis(t)
	conn := dial(t, s)
	s.Pause(t)
	fmt.Fprint(conn, "PING\r\n")
	if err := conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 1)); err == nil {
		t.Fatalf("a paused server answered %d bytes", n)
	}
	s.Resume(t)
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if answer, err := bufio.NewReader(conn).ReadString('\n'); answer != "+PONG\r\n" {
		t.Errorf("after Resume: got %q, %v, want +PONG", answer, err)
	}
}

func TestClusterServesEverySlot(t *testing.T) {
	t.Parallel()
	c := servers.RedisCluster(t)
	if len(c.Addrs()) != 3 {
		t.Fatalf("got masters %v, want three", c.Addrs())
	}
	for i, key := range []string{"b", "c", "a"} { // slots 3300, 7365 and 15495
		for j, node := range c.Masters {
			want := "-MOVED "
			if i == j {
				want = "+OK"
			}
			if got := say(t, node, "SET "+key+" 1"); !strings.HasPrefix(got, want) {
				t.Errorf("SET %s at master %d: got %q, want %q", key, j, got, want)
			}
		}
	}
}

func TestClusterHealsAfterRestart(t *testing.T) {
	t.Parallel()
	c := servers.RedisCluster(t)
	c.Masters[1].Kill(t)
	c.Masters[1].Restart(t)
	c.AwaitOK(t)
}

func TestSentinelFailsOver(t *testing.T) {
	t.Parallel()
	s := servers.RedisSentinel(t)
	if len(s.Addrs()) != 3 {
		t.Fatalf("got sentinels %v, want three", s.Addrs())
	}
	s.AwaitPrimary(t, s.Primary)
	s.Primary.Kill(t)
	s.AwaitPrimary(t, s.Replica)
	if got := say(t, s.Replica, "SET a 1"); got != "+OK" {
		t.Errorf("SET at the new primary: got %q, want +OK", got)
	}
}

// say sends one line and returns the first line of the answer.
func say(t *testing.T, s *servers.Server, line string) string {
	t.Helper()
	conn := dial(t, s)
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "%s\r\n", line)
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		t.Fatalf("%s to %s: %v", line, s.Addr(), err)
	}
	return strings.TrimSpace(answer)
}

func dial(t *testing.T, s *servers.Server) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}
