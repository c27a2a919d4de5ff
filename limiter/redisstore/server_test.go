package redisstore_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit/limiter/redisstore"
)

// patient is a time-out for tests that are not about time: 64 callers under the race detector on a busy machine.
const patient = 20 * time.Second

// startRedis starts a redis-server of its own on a free port, which ends with the test, and returns its address.
func startRedis(t testing.TB, options ...string) string {
	t.Helper()
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("HTTPLIMIT_SERVERS") == "required" {
			t.Fatalf("HTTPLIMIT_SERVERS is required: %v", err)
		}
		t.Skipf("no redis-server on this machine: %v", err)
	}
	var fault error
	for range 5 { // the port is free now, and may be taken until the server binds it
		addr := freeAddr(t)
		if fault = serve(t, binary, addr, options); fault == nil {
			return addr
		}
	}
	t.Fatal(fault)
	return ""
}

func freeAddr(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// serve starts the server and waits until it answers as the process that was started.
func serve(t testing.TB, binary, addr string, options []string) error {
	t.Helper()
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	args := append([]string{"--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"}, options...)
	server := exec.Command(binary, args...)
	server.Dir = t.TempDir()
	if err := server.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	t.Cleanup(func() {
		_ = server.Process.Kill()
		<-ended
		ended <- nil
	})
	for range 1000 {
		select {
		case err := <-ended:
			ended <- nil
			return fmt.Errorf("redis-server on %s ended: %w", addr, err)
		case <-time.After(10 * time.Millisecond):
		}
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			return isProcess(t.Context(), addr, server.Process.Pid)
		}
	}
	return fmt.Errorf("redis-server on %s does not answer", addr)
}

// isProcess returns nil if the server at addr is that process, and no other that took the port.
func isProcess(ctx context.Context, addr string, pid int) error {
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer client.Close()
	info, err := client.InfoMap(ctx, "server").Result()
	if err != nil {
		return err
	}
	if got := info["Server"]["process_id"]; got != strconv.Itoa(pid) {
		return fmt.Errorf("the server on %s is process %s, want %d", addr, got, pid)
	}
	return nil
}

// connect returns a client of one server, as this package advises to make them.
func connect(t testing.TB, addr string) *redis.Client {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true})
	t.Cleanup(func() { client.Close() })
	return client
}

// newStore returns a store for a test that is not about time.
func newStore(t testing.TB, client redis.UniversalClient, cfg redisstore.Config) *redisstore.Store {
	t.Helper()
	if cfg.Timeout == 0 {
		cfg.Timeout = patient
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	store, err := redisstore.New(client, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// fake is a server within the test, whose clock the test moves.
type fake struct {
	*miniredis.Miniredis
	now time.Time
}

// startFake returns a server at noon of a day to come. Were the clock of this process far ahead of the server's, no tag
// of a window would be sure, and nothing decided the straight way.
func startFake(t testing.TB) *fake {
	t.Helper()
	const day = 24 * time.Hour
	f := &fake{miniredis.RunT(t), time.Now().UTC().Truncate(day).Add(day + day/2)}
	f.ClockTTL(true)
	f.SetTime(f.now)
	return f
}

func (f *fake) advance(d time.Duration) {
	f.now = f.now.Add(d)
	f.SetTime(f.now)
}
