package faults_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/e2e/servers"
	"github.com/httplimit/httplimit/limiter/redisstore"
)

// Whoever reads the log, or asks Health, learns why the store cannot decide, and since when, on the day on which a name
// is misspelt or nothing listens.
func TestCauseIsTold(t *testing.T) {
	t.Parallel()
	noHost := func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "redis"}}
	}
	for _, row := range []struct {
		name, want string
		options    redis.Options
	}{
		{"nothing listens", "dial tcp 127.0.0.1:1: connect: connection refused", redis.Options{Addr: "127.0.0.1:1"}},
		{"a misspelt name", "dial tcp: lookup redis: no such host", redis.Options{Addr: "redis:6379", Dialer: noHost}},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.options.ContextTimeoutEnabled = true
			store := redisStore(t, connect(t, &row.options), redisstore.Config{Timeout: timeout})
			s := startService(t, store)
			for open := false; !open; {
				got := s.ask(closed, "client")
				if got.fault != "" || got.status != http.StatusServiceUnavailable {
					t.Fatalf("got %d %s, want 503", got.status, got.fault)
				}
				open = !store.Healthy()
			}
			servers.Await(t, "Health says that the breaker is open", func() bool {
				s.ask(closed, "client")
				health := s.Health()
				return len(health) > 0 && strings.Contains(health[0].Err.Error(), "next try in ")
			})
			for _, h := range s.Health() {
				if text := h.Err.Error(); !strings.Contains(text, " since ") || !strings.Contains(text, row.want) {
					t.Errorf("Health: got %q, want since when, and %q", text, row.want)
				}
			}
			lines := s.log.about(closed)
			if len(lines) != 1 || !strings.Contains(lines[0], row.want) ||
				!strings.Contains(lines[0], "policy="+httplimit.FailClosed.String()) {
				t.Errorf("the log: got %q, want one line with %q", lines, row.want)
			}
		})
	}
}
