package faults_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/httplimit/httplimit/e2e/servers"
)

// Another program has overwritten the counter of one client. The policy decides for this client, and for no other: a
// server that answers is not down, however often the client asks.
func TestForeignValue(t *testing.T) {
	t.Parallel()
	for _, kind := range []struct {
		name  string
		start func(*testing.T, options) *rig
		spoil func(*testing.T, *rig)
	}{
		{"redis", startRedis, spoilRedis},
		{"memcached", startMemcached, spoilMemcached},
	} {
		t.Run(kind.name, func(t *testing.T) {
			beside(t)
			r := kind.start(t, options{})
			s := startService(t, r.store)
			servers.Await(t, "the client is counted", func() bool { return s.ask(closed, "client").status == http.StatusOK })
			kind.spoil(t, r)
			for start, n := time.Now(), 0; n < 20 || time.Since(start) < 3*timeout; n++ {
				if got := s.ask(closed, "client"); got.fault != "" || got.status != http.StatusServiceUnavailable {
					t.Fatalf("the client: got %d %s, want 503", got.status, got.fault)
				}
			}
			if !r.store.Healthy() {
				t.Error("the breaker is open for everybody")
			}
			if got := s.ask(closed, "another"); got.status != http.StatusOK {
				t.Errorf("another client: got %d, want 200", got.status)
			}
			if err := s.Reset(context.Background(), closed, "client"); err != nil {
				t.Error(err)
			}
			if got := s.ask(closed, "client"); got.status != http.StatusOK {
				t.Errorf("after a Reset: got %d, want 200", got.status)
			}
		})
	}
}

func spoilRedis(t *testing.T, r *rig) {
	keys, err := r.admin.Keys(context.Background(), "*{client}*").Result()
	if err != nil || len(keys) == 0 {
		t.Fatalf("the client's keys: got %q, %v", keys, err)
	}
	for _, key := range keys {
		r.do(t, "SET", key, "garbage")
	}
}

func spoilMemcached(t *testing.T, r *rig) {
	client := memcache.New(r.server.Addr())
	t.Cleanup(func() { client.Close() })
	const day = 86_400_000
	key := fmt.Sprintf("httplimit:/closed|client|s%d|%d", day, time.Now().UnixMilli()/day)
	if err := client.Replace(&memcache.Item{Key: key, Value: []byte("garbage")}); err != nil {
		t.Fatalf("%s: %v", key, err)
	}
}
