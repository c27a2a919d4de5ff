package memcachestore_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/httplimit/httplimit/limiter/memcachestore"
)

// server is a memcached of the test's own.
type server struct {
	address string
	process *exec.Cmd
}

// startServer starts memcached on a free port of the loopback interface and ends it with the test.
func startServer(tb testing.TB) *server {
	tb.Helper()
	s := &server{address: freeAddress(tb)}
	s.start(tb)
	tb.Cleanup(s.kill)
	return s
}

func (s *server) start(tb testing.TB) {
	tb.Helper()
	path, err := exec.LookPath("memcached")
	switch {
	case err == nil:
	case os.Getenv("HTTPLIMIT_SERVERS") == "required":
		tb.Fatalf("HTTPLIMIT_SERVERS is required: %v", err)
	default:
		tb.Skipf("no memcached on this machine: %v", err)
	}
	host, port, _ := net.SplitHostPort(s.address)
	arguments := []string{"-l", host, "-p", port, "-U", "0", "-m", "64"}
	if os.Getuid() == 0 {
		arguments = append(arguments, "-u", "nobody")
	}
	s.process = exec.Command(path, arguments...)
	if err := s.process.Start(); err != nil {
		tb.Fatal(err)
	}
	for range 1000 {
		conn, err := net.Dial("tcp", s.address)
		if err == nil {
			conn.Close()
			return
		}
		time.Sleep(10 * time.Millisecond) // another process; there is no clock to move
	}
	tb.Fatalf("memcached does not listen on %s", s.address)
}

// kill ends the process at once, as a crash does. It is harmless to repeat.
func (s *server) kill() {
	s.process.Process.Kill()
	s.process.Wait()
}

// ask sends one line and returns the first line of the answer.
func (s *server) ask(t *testing.T, format string, args ...any) string {
	t.Helper()
	conn, err := net.Dial("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, format+"\r\n", args...)
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

func freeAddress(tb testing.TB) string {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// newClient returns a client that keeps a connection for each of many callers.
func newClient(tb testing.TB, servers ...*server) *memcache.Client {
	tb.Helper()
	var addresses []string
	for _, s := range servers {
		addresses = append(addresses, s.address)
	}
	client := memcache.New(addresses...)
	client.MaxIdleConns = 128
	client.Timeout = patient
	tb.Cleanup(func() { client.Close() })
	return client
}

// patient is a Timeout that no slow test machine exceeds, and short enough for previous windows to be remembered.
const patient = 5 * time.Second

var prefixes atomic.Int64

// newPrefix makes a server as good as empty.
func newPrefix() string { return fmt.Sprintf("test%d:", prefixes.Add(1)) }

func newStore(tb testing.TB, client *memcache.Client, cfg memcachestore.Config) *memcachestore.Store {
	tb.Helper()
	store, err := memcachestore.New(client, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return store
}
