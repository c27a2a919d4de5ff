package faults_test

import (
	"cmp"
	"context"
	"net"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit/e2e/faults/proxy"
	"github.com/httplimit/httplimit/e2e/servers"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memcachestore"
	"github.com/httplimit/httplimit/limiter/redisstore"
)

// store is what all stores behind a network are.
type store interface {
	limiter.Store
	Healthy() bool
}

// rig is a server and a store over it.
type rig struct {
	server *servers.Server
	proxy  *proxy.Proxy // between the two; nil: nothing is
	store  store
	close  func()      // ends the store's client
	idle   func() bool // its connections are no more than it keeps, and none is in use

	client *redis.Client // the store's; nil: memcached
	admin  *redis.Conn   // past the proxy, and there before every fault
}

// options say how a row's server and client differ from the usual.
type options struct {
	server []string // more of its command line
	direct bool     // no proxy between
	deaf   bool     // the client ignores deadlines while it reads, as go-redis does unless told
	pool   int      // how many connections the client may have, if not 10
	// steadfast: the store has no breaker.
	steadfast bool
	// timeout is the store's, for rows in which nothing may be late; 0 means the usual.
	timeout time.Duration
}

func startRedis(t *testing.T, o options) *rig {
	t.Helper()
	o.pool, o.timeout = cmp.Or(o.pool, 10), cmp.Or(o.timeout, timeout)
	r := &rig{server: servers.Redis(t, o.server...)}
	addr := r.between(t, o)
	r.client = connect(t, &redis.Options{Addr: addr, ContextTimeoutEnabled: !o.deaf, PoolSize: o.pool})
	r.close = func() { r.client.Close() }
	r.idle = func() bool {
		stats := r.client.PoolStats()
		return int(stats.TotalConns) <= o.pool && stats.IdleConns == stats.TotalConns
	}
	r.store = redisStore(t, r.client, redisstore.Config{Timeout: o.timeout, NoBreaker: o.steadfast})
	r.admin = connect(t, &redis.Options{Addr: r.server.Addr()}).Conn()
	r.do(t, "PING")
	return r
}

func startMemcached(t *testing.T, o options) *rig {
	t.Helper()
	r := &rig{server: servers.Memcached(t, o.server...)}
	client := memcache.New(r.between(t, o))
	client.MaxIdleConns = 2 * workers
	client.Timeout = 2 * cmp.Or(o.timeout, timeout) // longer than the store's, as it is by default
	r.close = func() { client.Close() }
	r.idle = func() bool { return r.proxy == nil || r.proxy.Open() <= client.MaxIdleConns }
	t.Cleanup(r.close)
	r.store = memcachedStore(t, client, memcachestore.Config{Timeout: cmp.Or(o.timeout, timeout), NoBreaker: o.steadfast})
	return r
}

// between starts a proxy in front of the server, if there is to be one, and returns where clients connect.
func (r *rig) between(t *testing.T, o options) string {
	t.Helper()
	if o.direct {
		return r.server.Addr()
	}
	r.proxy = proxy.New(t, r.server.Addr())
	return r.proxy.Addr()
}

func connect(t *testing.T, o *redis.Options) *redis.Client {
	t.Helper()
	client := redis.NewClient(o)
	t.Cleanup(func() { client.Close() })
	return client
}

func redisStore(t *testing.T, client redis.UniversalClient, cfg redisstore.Config) *redisstore.Store {
	t.Helper()
	s, err := redisstore.New(client, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func memcachedStore(t *testing.T, client *memcache.Client, cfg memcachestore.Config) *memcachestore.Store {
	t.Helper()
	s, err := memcachestore.New(client, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// do sends the redis-server a command, past the proxy.
func (r *rig) do(t *testing.T, command ...any) {
	t.Helper()
	if err := r.admin.Do(context.Background(), command...).Err(); err != nil {
		t.Fatalf("%v: %v", command, err)
	}
}

// follow makes the server a replica of another.
func (r *rig) follow(t *testing.T, primary *servers.Server) {
	t.Helper()
	host, port, err := net.SplitHostPort(primary.Addr())
	if err != nil {
		t.Fatal(err)
	}
	r.do(t, "REPLICAOF", host, port)
}
