package memcachestore_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memcachestore"
)

func TestStats(t *testing.T) {
	server := sharedServer(t)
	store := newStore(t, newClient(t, server), memcachestore.Config{
		Name: "visits", Timeout: patient, Prefix: newPrefix(), Address: server.address, DenyCache: 16,
	})
	limit := limiter.PerHour(2)
	for range 4 {
		take(t, store, charge(limit, 1))
	}
	stats := store.Stats()
	if len(stats.Servers) != 1 {
		t.Fatalf("servers: got %+v, want one", stats.Servers)
	}
	got := stats.Servers[0]
	if got.Address != server.address || !got.Healthy || got.Calls != 3 || got.Callers != 3 || got.Failed != 0 {
		t.Errorf("got %+v, want 3 calls of a healthy %s", got, server.address)
	}
	if stats.Name != "visits" || stats.DenyCacheHits != 1 || stats.DenyCacheEntries != 1 || stats.DenyCacheCapacity != 16 {
		t.Errorf("got %+v, want one refusal remembered and one answer from it", stats)
	}
}

func TestPing(t *testing.T) {
	server := sharedServer(t)
	store := newStore(t, newClient(t, server), memcachestore.Config{})
	if err := store.Ping(context.Background()); err != nil {
		t.Errorf("a server that answers: %v, want nil", err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := store.Ping(ended); err != context.Canceled {
		t.Errorf("a context that has ended: %v, want its error", err)
	}

	nobody := freeAddress(t)
	store = newStore(t, memcache.New(server.address, nobody), memcachestore.Config{})
	err := store.Ping(context.Background())
	if want := "dial tcp " + nobody; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a server that nobody listens on: %v, want it to say %q", err, want)
	}
	if !store.Healthy() {
		t.Error("a Ping opened the breaker")
	}

	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	client := memcache.New(silent.Addr().String())
	client.Timeout = time.Minute
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := newStore(t, client, memcachestore.Config{}).Ping(ctx); err != context.DeadlineExceeded {
		t.Errorf("a server that is silent: %v, want the context's error", err)
	}
}
