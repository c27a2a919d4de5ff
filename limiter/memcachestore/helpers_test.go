package memcachestore_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memcachestore"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.server != nil {
		shared.server.kill()
	}
	os.Exit(code)
}

// server is a memcached of the tests' own.
type server struct {
	address string
	process *exec.Cmd
}

var shared struct {
	start  sync.Once
	server *server
}

// sharedServer returns the memcached of all tests that need none of their own. Each has a prefix of its own.
func sharedServer(t *testing.T) *server {
	t.Helper()
	path := memcached(t)
	shared.start.Do(func() {
		s := &server{address: freeAddress(t)}
		s.start(t, path)
		shared.server = s
	})
	if shared.server == nil {
		t.Fatal("the shared memcached did not start")
	}
	return shared.server
}

// startServer starts a memcached on a free port of the loopback interface and ends it with the test.
func startServer(tb testing.TB) *server {
	tb.Helper()
	s := &server{address: freeAddress(tb)}
	s.start(tb, memcached(tb))
	tb.Cleanup(s.kill)
	return s
}

// memcached returns the path of the program, or skips the test.
func memcached(tb testing.TB) string {
	tb.Helper()
	path, err := exec.LookPath("memcached")
	switch {
	case err == nil:
	case os.Getenv("HTTPLIMIT_SERVERS") == "required":
		tb.Fatalf("HTTPLIMIT_SERVERS is required: %v", err)
	default:
		tb.Skipf("no memcached on this machine: %v", err)
	}
	return path
}

func (s *server) start(tb testing.TB, path string) {
	tb.Helper()
	host, port, _ := net.SplitHostPort(s.address)
	arguments := []string{"-l", host, "-p", port, "-U", "0", "-m", "64"}
	if os.Getuid() == 0 {
		arguments = append(arguments, "-u", "nobody")
	}
	s.process = exec.Command(path, arguments...)
	if err := s.process.Start(); err != nil {
		tb.Fatal(err)
	}
	for range 3000 {
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

// patient is a Timeout that no slow test machine exceeds, and short enough for previous windows to be cached.
const patient = 5 * time.Second

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

var prefixes atomic.Int64

// newPrefix returns a prefix without any counts in a shared server.
func newPrefix() string { return fmt.Sprintf("test%d:", prefixes.Add(1)) }

func newStore(tb testing.TB, client *memcache.Client, cfg memcachestore.Config) *memcachestore.Store {
	tb.Helper()
	store, err := memcachestore.New(client, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return store
}

func charge(limit limiter.Limit, cost int64) limiter.Charge {
	return limiter.Charge{Scope: "s", Key: "k", Limit: limit, Cost: cost}
}

func take(t *testing.T, store limiter.Store, c limiter.Charge) limiter.Charge {
	t.Helper()
	batch := []limiter.Charge{c}
	if _, err := store.Take(context.Background(), batch); err != nil {
		t.Fatal(err)
	}
	return batch[0]
}

// manualClock is a clock that a test moves.
type manualClock struct {
	mu  sync.Mutex
	now time.Time
}

// newClock returns a clock that starts at a boundary of windows of any usual length.
func newClock() *manualClock { return &manualClock{now: time.UnixMilli(1_800_000_000_000)} }

func (c *manualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *manualClock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// startWindow moves the clock to the start of a window.
func (c *manualClock) startWindow(window time.Duration) {
	c.Advance(window - c.Now().Sub(time.UnixMilli(0))%window)
}
