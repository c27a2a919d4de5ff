package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/redisstore"
	"github.com/httplimit/httplimit/limiter/storekit"
)

// hook runs before each of the client's commands and pipelines, and replaces them if it returns an error.
type hook func(ctx context.Context, cmds []redis.Cmder) error

func (h hook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := h(ctx, []redis.Cmder{cmd}); err != nil {
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

func (h hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if err := h(ctx, cmds); err != nil {
			for _, cmd := range cmds {
				cmd.SetErr(err)
			}
			return err
		}
		return next(ctx, cmds)
	}
}

// sends counts the calls of scripts that get as far as the connection.
func sends(client redis.UniversalClient) *atomic.Int64 {
	var n atomic.Int64
	client.AddHook(hook(func(_ context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			if strings.HasPrefix(cmd.Name(), "eval") {
				n.Add(1)
			}
		}
		return nil
	}))
	return &n
}

// blackhole accepts connections, answers the handshake by an error, counts the scripts that it is sent, and then does
// what it is told.
type blackhole struct {
	net.Listener
	scripts atomic.Int64
	conns   sync.Map
}

func startBlackhole(t *testing.T, onScript func(net.Conn)) *blackhole {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &blackhole{Listener: l}
	t.Cleanup(b.stop)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go b.serve(conn, onScript)
		}
	}()
	return b
}

// stop closes all connections. It comes before the client is closed, which would else take back the deadlines of
// reads that are under way.
func (b *blackhole) stop() {
	b.Close()
	b.conns.Range(func(conn, _ any) bool {
		conn.(net.Conn).Close()
		return true
	})
}

func (b *blackhole) serve(conn net.Conn, onScript func(net.Conn)) {
	defer conn.Close()
	b.conns.Store(conn, nil)
	buffer := make([]byte, 1<<16)
	for {
		n, err := conn.Read(buffer)
		if err != nil {
			return
		}
		request := strings.ToLower(string(buffer[:n]))
		if strings.Contains(request, "evalsha") {
			b.scripts.Add(1)
			onScript(conn)
			continue
		}
		for range strings.Count(request, "*") {
			if _, err := io.WriteString(conn, "-ERR unknown command\r\n"); err != nil {
				return
			}
		}
	}
}

func TestSentOnce(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		onScript func(net.Conn)
	}{
		{"no answer", func(net.Conn) {}},
		{"the connection is lost", func(conn net.Conn) { conn.Close() }},
	} {
		for _, heeds := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, ContextTimeoutEnabled %v", tc.name, heeds), func(t *testing.T) {
				t.Parallel()
				server := startBlackhole(t, tc.onScript)
				client := redis.NewClient(&redis.Options{
					Addr: server.Addr().String(), ContextTimeoutEnabled: heeds, Protocol: 2,
					ReadTimeout: 300 * time.Millisecond, MinRetryBackoff: -1, MaxRetries: 5,
				})
				defer client.Close()
				defer server.stop()
				store := newStore(t, client, redisstore.Config{})
				if _, err := store.Take(t.Context(), []limiter.Charge{charge("key", limiter.PerMinute(1), 1)}); err == nil {
					t.Error("no error from a server that does not answer")
				}
				if got := server.scripts.Load(); got != 1 {
					t.Errorf("the script was sent %d times, want once: it may have been executed", got)
				}
			})
		}
	}
}

// A server that takes connections and never answers, and a client that would wait for it for an hour.
func TestNoCallerIsHeldBeyondTheTimeout(t *testing.T) {
	t.Parallel()
	for _, heeds := range []bool{true, false} {
		t.Run(fmt.Sprintf("ContextTimeoutEnabled %v", heeds), func(t *testing.T) {
			stalled := startBlackhole(t, func(net.Conn) {})
			client := redis.NewClient(&redis.Options{
				Addr: stalled.Addr().String(), ContextTimeoutEnabled: heeds, Protocol: 2,
				ReadTimeout: time.Hour, WriteTimeout: time.Hour, PoolTimeout: time.Hour,
			})
			defer client.Close()
			defer stalled.stop()
			store := newStore(t, client, redisstore.Config{Timeout: 100 * time.Millisecond})
			done := make(chan struct{})
			go func() {
				defer close(done)
				together(200, func(i int) {
					_, err := store.Take(t.Context(), []limiter.Charge{charge(fmt.Sprint(i), limiter.PerMinute(1), 1)})
					if !errors.Is(err, context.DeadlineExceeded) && !isTimeout(err) {
						t.Errorf("got %v, want a deadline that is over", err)
					}
				})
			}()
			select {
			case <-done:
			case <-time.After(patient):
				t.Error("callers are held for as long as the client waits")
			}
		})
	}
}

func isTimeout(err error) bool {
	var network net.Error
	return errors.As(err, &network) && network.Timeout()
}

func TestNewDoesNotDial(t *testing.T) {
	t.Parallel()
	dialled := false
	client := redis.NewClient(&redis.Options{Dialer: func(context.Context, string, string) (net.Conn, error) {
		dialled = true
		return nil, errors.New("no network")
	}})
	defer client.Close()
	newStore(t, client, redisstore.Config{})
	if dialled {
		t.Error("New dialled, want a service to start while Redis is down")
	}
}

func TestClientsThatDie(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		end  func()
		heed bool
	}{
		{"a hook panics in the caller's goroutine", func() { panic("hook") }, true},
		{"a hook panics in the call's goroutine", func() { panic("hook") }, false},
		{"a hook ends the call's goroutine", runtime.Goexit, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			client := redis.NewClient(&redis.Options{Addr: startFake(t).Addr(), ContextTimeoutEnabled: tc.heed})
			defer client.Close()
			var armed atomic.Bool
			client.AddHook(hook(func(context.Context, []redis.Cmder) error {
				if armed.Swap(false) {
					tc.end()
				}
				return nil
			}))
			store := newStore(t, client, redisstore.Config{DenyCache: noCache})
			limit := limiter.Per(1000, time.Hour)
			armed.Store(true)
			if _, err := store.Take(t.Context(), []limiter.Charge{charge("key", limit, 1)}); err == nil {
				t.Error("no error from a call that died")
			}
			for range 3 {
				take(t, store, charge("key", limit, 1))
			}
		})
	}
}

func TestRetriedOnlyIfNotExecuted(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		err  error
		want bool
	}{
		{reply("LOADING Redis is loading the dataset in memory"), true},
		{reply("READONLY You can't write against a read only replica."), true},
		{reply("CLUSTERDOWN The cluster is down"), true},
		{reply("TRYAGAIN Multiple keys request during rehashing of slot"), true},
		{reply("MASTERDOWN Link with MASTER is down"), true},
		{reply("ERR max number of clients reached"), true},
		{&net.OpError{Op: "dial", Err: errors.New("connection refused")}, true},
		{&net.OpError{Op: "read", Err: errors.New("connection reset by peer")}, false},
		{reply("OOM command not allowed when used memory > 'maxmemory'."), false},
		{reply("NOPERM this user has no permissions"), false},
		{reply("BUSY Redis is busy running a script"), false},
		{io.EOF, false},
	} {
		t.Run(tc.err.Error(), func(t *testing.T) {
			client := connect(t, startFake(t).Addr())
			var armed atomic.Bool
			client.AddHook(hook(func(context.Context, []redis.Cmder) error {
				if armed.Swap(false) {
					return tc.err
				}
				return nil
			}))
			sent := sends(client)
			store := newStore(t, client, redisstore.Config{})
			take(t, store, charge("warm", limiter.PerMinute(1), 1))
			before := sent.Load()
			armed.Store(true)
			_, err := store.Take(t.Context(), []limiter.Charge{charge("key", limiter.PerMinute(1), 1)})
			if got := err == nil; got != tc.want {
				t.Errorf("error %v, want one: %v", err, !tc.want)
			}
			if got := sent.Load() - before; (got == 1) != tc.want {
				t.Errorf("sent %d times after the failure, want again: %v", got, tc.want)
			}
		})
	}
}

// reply is an error reply of a server, of the type that go-redis has for them.
func reply(text string) error { return like(redis.ErrNoScript, text) }

func like[T ~string](_ T, text string) T { return T(text) }

func TestBreakerOpensAndCloses(t *testing.T) {
	t.Parallel()
	server := startFake(t)
	client := connect(t, server.Addr())
	store := newStore(t, client, redisstore.Config{Timeout: 100 * time.Millisecond, DenyCache: noCache})
	ask := func() error {
		_, err := store.Take(t.Context(), []limiter.Charge{charge("key", limiter.PerHour(1_000_000), 1)})
		return err
	}
	for ask() != nil { // the time-out is short for a busy machine
		runtime.Gosched()
	}
	if !store.Healthy() {
		t.Fatal("not healthy after a decision")
	}
	server.SetError("OOM command not allowed when used memory > 'maxmemory'.")
	var unavailable *storekit.UnavailableError
	for !errors.As(ask(), &unavailable) {
	}
	if store.Healthy() || unavailable.RetryAfter <= 0 {
		t.Errorf("healthy %v, retry after %v, want the time to the next probe", store.Healthy(), unavailable.RetryAfter)
	}
	server.SetError("")
	for ask() != nil {
		runtime.Gosched()
	}
	if !store.Healthy() {
		t.Error("still not healthy after a decision")
	}
}

func TestRefusedFromMemory(t *testing.T) {
	t.Parallel()
	client := connect(t, startFake(t).Addr())
	sent := sends(client)
	store := newStore(t, client, redisstore.Config{})
	limit := limiter.PerHour(1)
	take(t, store, charge("key", limit, 1))
	take(t, store, charge("key", limit, 1))
	before := sent.Load()
	if taken, got := take(t, store, charge("key", limit, 1)); taken || got[0].RetryAfter <= 0 {
		t.Errorf("taken %v, retry after %v, want a refusal", taken, got[0].RetryAfter)
	}
	if got := sent.Load() - before; got != 0 {
		t.Errorf("%d calls for a client that was just refused, want none", got)
	}
	for name, free := range map[string]func(){
		"reset":  func() { _ = store.Reset(t.Context(), []limiter.Charge{charge("key", limit, 1)}) },
		"refund": func() { take(t, store, charge("key", limit, -1)) },
	} {
		free()
		if taken, _ := take(t, store, charge("key", limit, 1)); !taken {
			t.Errorf("refused after a %s through the same store", name)
		}
		take(t, store, charge("key", limit, 1))
	}
}
