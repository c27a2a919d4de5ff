package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/redisstore"
	"github.com/httplimit/httplimit/limiter/storekit"
)

// noHost dials as where a name is misspelt.
func noHost(context.Context, string, string) (net.Conn, error) {
	return nil, &net.OpError{
		Op:  "dial",
		Net: "tcp",
		Err: &net.DNSError{Err: "no such host", Name: "redis", IsNotFound: true},
	}
}

// untilOpen asks until the breaker is open, and returns the errors.
func untilOpen(t *testing.T, store *redisstore.Store) (open *storekit.UnavailableError, first error) {
	t.Helper()
	for start := time.Now(); time.Since(start) < patient; {
		_, err := store.Take(t.Context(), []limiter.Charge{charge("key", limiter.PerMinute(1), 1)})
		if err == nil {
			t.Fatal("decided, want an error")
		}
		if first == nil {
			first = err
		}
		if errors.As(err, &open) && errors.Is(err, storekit.ErrOpen) {
			return open, first
		}
	}
	t.Fatal("the breaker did not open")
	return nil, nil
}

// The first error says why the server was not reached, and so do those of the open breaker.
func TestErrorsSayWhy(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		client func(inline bool) redis.UniversalClient
		want   string
	}{
		{"nothing listens", func(inline bool) redis.UniversalClient {
			return redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", ContextTimeoutEnabled: inline})
		}, "dial tcp 127.0.0.1:1: connect: connection refused"},
		{"a misspelt name", func(inline bool) redis.UniversalClient {
			return redis.NewClient(&redis.Options{Addr: "redis:6379", Dialer: noHost, ContextTimeoutEnabled: inline})
		}, "dial tcp: lookup redis: no such host"},
		{"a Cluster with a misspelt name", func(inline bool) redis.UniversalClient {
			return redis.NewClusterClient(&redis.ClusterOptions{
				Addrs: []string{"redis:6379"}, Dialer: noHost, ContextTimeoutEnabled: inline,
			})
		}, "dial tcp: lookup redis: no such host"},
	} {
		for _, inline := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, ContextTimeoutEnabled %v", tc.name, inline), func(t *testing.T) {
				t.Parallel()
				client := tc.client(inline)
				defer client.Close()
				store := newStore(t, client, redisstore.Config{Timeout: 200 * time.Millisecond})
				open, first := untilOpen(t, store)
				if !strings.Contains(first.Error(), tc.want) {
					t.Errorf("the first error: got %q, want one with %q", first, tc.want)
				}
				if want := "since " + open.Since.Format(time.TimeOnly) + ": "; !strings.Contains(open.Error(), want) ||
					!strings.Contains(open.Error(), tc.want+"; next try in ") {
					t.Errorf("while the breaker is open: got %q, want one with %q, %q and the next try", open, want, tc.want)
				}
				var dial *net.OpError
				if !errors.As(open, &dial) {
					t.Errorf("got %v, want an error that wraps that of dialling", open)
				}
				s := store.Stats().Servers
				if len(s) != 1 || s[0].Healthy || !strings.Contains(s[0].Cause, tc.want) || s[0].NextProbe.IsZero() ||
					s[0].Since.IsZero() || s[0].Failed == 0 || s[0].Address == "" {
					t.Errorf("stats: got %+v, want one server that is down, and why", s)
				}
				err := store.Ping(t.Context())
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("Ping: got %v, want %q", err, tc.want)
				}
				store.Settle()
			})
		}
	}
}

func TestErrorsSayWhyWithoutABreaker(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", ContextTimeoutEnabled: true})
	defer client.Close()
	store := newStore(t, client, redisstore.Config{Timeout: 200 * time.Millisecond, NoBreaker: true})
	_, err := store.Take(t.Context(), []limiter.Charge{charge("key", limiter.PerMinute(1), 1)})
	if err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("got %v, want one that says that the connection was refused", err)
	}
	store.Settle()
}

// Servers say in many words that they do not accept a client.
func TestServersThatDoNotLetIn(t *testing.T) {
	t.Parallel()
	const want = "the server does not let this client in"
	client := connect(t, startFake(t).Addr())
	var mu sync.Mutex
	var answer error
	client.AddHook(hook(func(context.Context, []redis.Cmder) error {
		mu.Lock()
		defer mu.Unlock()
		return answer
	}))
	store := newStore(t, client, redisstore.Config{NoBreaker: true})
	for text, told := range map[string]bool{
		"NOAUTH Authentication required.":                                                                  true,
		"WRONGPASS invalid username-password pair or user is disabled.":                                    true,
		"WRONGPASS invalid or missing auth token":                                                          true,
		"ERR AUTH <password> called without any password configured for the default user. Are you sure?":   true,
		"ERR Client sent AUTH, but no password is set":                                                     true,
		"ERR invalid password":                                                                             true,
		"ERR invalid username-password pair or user is disabled.":                                          true,
		"ERR operation not permitted":                                                                      true,
		"ERR unauthenticated":                                                                              true,
		"ERR AUTH failed: WRONGPASS":                                                                       true,
		"ERR Unauthorized":                                                                                 true,
		"DENIED Redis is running in protected mode because protected mode is enabled":                      true,
		"NOPERM this user has no permissions to run the 'evalsha' command":                                 false,
		"ERR unknown command 'evalsha'":                                                                    false,
		"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.": false,
	} {
		mu.Lock()
		answer = reply(text)
		mu.Unlock()
		_, err := store.Take(t.Context(), []limiter.Charge{charge("key", limiter.PerMinute(1), 1)})
		if err == nil || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), want) != told {
			t.Errorf("got %v, want %q, and that it does not let in: %v", err, text, told)
		}
	}
}

func TestPing(t *testing.T) {
	t.Parallel()
	addr := startRedis(t)
	must(t, connect(t, addr).ConfigSet(t.Context(), "requirepass", "secret").Err())
	for name, tc := range map[string]struct {
		password, want string
	}{
		"the password":     {"secret", ""},
		"no password":      {"", "NOAUTH"},
		"another password": {"public", "WRONGPASS"},
	} {
		t.Run(name, func(t *testing.T) {
			client := redis.NewClient(&redis.Options{Addr: addr, Password: tc.password, ContextTimeoutEnabled: true})
			defer client.Close()
			store := newStore(t, client, redisstore.Config{Timeout: time.Nanosecond}) // does not matter
			err := store.Ping(t.Context())
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if err != nil && (strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "public")) {
				t.Errorf("got %v, which names a password", err)
			}
			if open := client.PoolStats().TotalConns; tc.want == "" && open == 0 {
				t.Error("the client has no connection afterwards")
			}
		})
	}
	t.Run("nobody answers", func(t *testing.T) {
		silent, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		defer silent.Close()
		client := redis.NewClient(&redis.Options{Addr: silent.Addr().String(), ContextTimeoutEnabled: true})
		defer client.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if err := newStore(t, client, redisstore.Config{}).Ping(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the end of the context", err)
		}
	})
}

// What looks after connections ends, also where nobody answers.
func TestContactEnds(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer silent.Close()
	client := redis.NewClient(&redis.Options{
		Addr: silent.Addr().String(), ContextTimeoutEnabled: true,
		DialTimeout: 50 * time.Millisecond, ReadTimeout: 50 * time.Millisecond,
	})
	defer client.Close()
	store := newStore(t, client, redisstore.Config{Timeout: 10 * time.Millisecond})
	open, _ := untilOpen(t, store)
	if open.Cause == nil {
		t.Error("the error has no cause")
	}
	ended := make(chan struct{})
	go func() {
		store.Settle()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(patient):
		t.Error("a goroutine goes on after the time-outs of the client")
	}
}

// lines is a log that keeps what it is told.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) count(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), what)
}

func (l *lines) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(io.Writer(l), &slog.HandlerOptions{Level: slog.LevelWarn}))
}

func TestWarnsOfAPolicyThatForgets(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string]int{"noeviction": 0, "allkeys-lru": 1, "volatile-ttl": 1} {
		t.Run(policy, func(t *testing.T) {
			client := connect(t, startRedis(t, "--maxmemory-policy", policy))
			var log lines
			store := newStore(t, client, redisstore.Config{Logger: log.logger()})
			for i := range 3 {
				take(t, store, charge(fmt.Sprint(i), limiter.PerMinute(1), 1))
				store.Settle()
			}
			if got := log.count("maxmemory_policy=" + policy); got != want {
				t.Errorf("got %d warnings, want %d", got, want)
			}
		})
	}
}

func TestWarnsOfAClockThatIsAhead(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		behind time.Duration // the server
		limit  limiter.Limit
		want   int
	}{
		"30 windows":             {30 * time.Minute, limiter.PerMinute(10), 0},
		"40 windows":             {40 * time.Minute, limiter.PerMinute(10), 1},
		"40 minutes of a day":    {40 * time.Minute, limiter.PerDay(10), 0},
		"a bucket has no window": {40 * time.Minute, per(limiter.TokenBucket, 10, time.Minute), 0},
		"behind by 40 windows":   {-40 * time.Minute, limiter.PerMinute(10), 0},
	} {
		t.Run(name, func(t *testing.T) {
			server := startFake(t)
			server.now = time.Now().Add(-tc.behind)
			server.SetTime(server.now)
			var log lines
			store := newStore(t, connect(t, server.Addr()), redisstore.Config{Logger: log.logger()})
			for range 3 {
				take(t, store, charge("key", tc.limit, 1))
			}
			store.Settle()
			if got := log.count("is ahead of the server's"); got != tc.want {
				t.Errorf("got %d warnings, want %d", got, tc.want)
			}
		})
	}
}

func TestStats(t *testing.T) {
	t.Parallel()
	server := startFake(t)
	client := connect(t, server.Addr())
	store := newStore(t, client, redisstore.Config{DenyCache: 100})
	if got := store.Stats(); len(got.Servers) != 1 || got.Servers[0].Address != server.Addr() || !got.Servers[0].Healthy ||
		!got.Servers[0].Since.IsZero() {
		t.Errorf("before the first decision: got %+v, want one server that has not answered", got)
	}
	for range 5 { // one is let in, one refused by the server, three from memory
		take(t, store, charge("key", limiter.PerHour(1), 1))
	}
	got := store.Stats()
	if s := got.Servers[0]; s.Calls < 2 || s.Callers != s.Calls || s.FlightSizes[0] != s.Calls || s.Failed != 0 ||
		s.Since.IsZero() || s.Waiting != 0 {
		t.Errorf("the server: got %+v, want at least two calls of one caller each", s)
	}
	if got.DenyCacheHits != 3 || got.DenyCacheEntries != 1 || got.DenyCacheCapacity < 100 || got.SpentUnderError != 0 {
		t.Errorf("got %+v, want three hits in a deny cache of 100 with one entry, and nothing spent under an error", got)
	}
}

// Units whose answer is lost may be spent; those that were never sent, or that the server denied, are not.
func TestStatsOfUnitsSpentUnderAnError(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  error
		want uint64
	}{
		"the answer is lost":   {io.ErrUnexpectedEOF, 7},
		"never sent":           {&net.OpError{Op: "dial", Err: errors.New("connection refused")}, 0},
		"the client is closed": {redis.ErrClosed, 0},
		"no connection free":   {redis.ErrPoolTimeout, 0},
		"denied":               {reply("NOPERM this user has no permissions"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			client := connect(t, startFake(t).Addr())
			client.AddHook(hook(func(context.Context, []redis.Cmder) error { return tc.err }))
			store := newStore(t, client, redisstore.Config{Timeout: time.Second})
			charges := []limiter.Charge{charge("a", limiter.PerHour(9), 7), charge("a", limiter.PerMinute(9), 0)}
			if _, err := store.Take(t.Context(), charges); err == nil {
				t.Fatal("no error")
			}
			store.Settle()
			if got := store.Stats().SpentUnderError; got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}

// A service that is not ready gets no requests, and asks for no decisions. It finds out all the same that its server is
// back.
func TestHealthyWithoutCalls(t *testing.T) {
	t.Parallel()
	server := startFake(t)
	client := connect(t, server.Addr())
	store := newStore(t, client, redisstore.Config{Timeout: 100 * time.Millisecond})
	server.SetError("LOADING Redis is loading the dataset in memory")
	untilOpen(t, store)
	if store.Healthy() {
		t.Error("healthy while the breaker is open")
	}
	server.SetError("")
	for start := time.Now(); !store.Healthy(); time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > patient {
			t.Fatal("not healthy, although the server is back")
		}
	}
	store.Settle()
}
