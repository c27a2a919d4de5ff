package redisstore

import (
	"context"
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit/limiter/storekit"
)

// servers finds the batcher of each batch: one for a single server or a Sentinel group, one for each master of a
// Cluster or shard of a Ring, one for all where nothing is known of the client.
type servers struct {
	sender *sender
	// named returns the server that holds a key by the client's topology, nil while none is known; it is nil itself
	// where there is one batcher. It must not block.
	named      func(ctx context.Context, key string) (*redis.Client, error)
	reload     func(context.Context) // has the client learn the topology anew, in the background; nil: it cannot
	newBatcher func(client *redis.Client, greet func(context.Context) error) *batcher
	address    string   // of first
	first      *batcher // for all that is not known to belong elsewhere
	others     sync.Map // of *batcher by address: those that the topology names, see drop
}

func newServers(client redis.UniversalClient, cfg Config, clock *storekit.Clock) *servers {
	notices := &notices{logger: cfg.Logger}
	s := &servers{sender: &sender{
		client: client, scripts: newScripts(), time: serverTime{clock: clock}, notices: notices,
	}}
	inline := false
	var single *redis.Client
	var greet func(context.Context) error
	switch c := client.(type) {
	case *redis.Client:
		inline = c.Options().ContextTimeoutEnabled
		single, s.address = c, c.Options().Addr
	case *redis.ClusterClient:
		inline = c.Options().ContextTimeoutEnabled
		s.named, s.reload, s.address = masterOf(c, &s.sender.answered), c.ReloadState, strings.Join(c.Options().Addrs, ",")
		greet = func(ctx context.Context) error {
			return greetMasters(ctx, c, &s.sender.answered,
				func(ctx context.Context, master *redis.Client) error { return ping(ctx, master) })
		}
		s.sender.perKey.Store(true)
	case *redis.Ring:
		inline = c.Options().ContextTimeoutEnabled
		s.named = shardOf(c)
		s.sender.perKey.Store(true)
	default:
		greet = func(ctx context.Context) error { return ping(ctx, c) }
		s.sender.perKey.Store(true)
	}
	if !inline {
		cfg.Logger.Info("redisstore: the client ignores deadlines while it reads, " +
			"which costs a goroutine for every call: set ContextTimeoutEnabled in its options")
	}
	s.newBatcher = func(client *redis.Client, greet func(context.Context) error) *batcher {
		b := &batcher{
			send: s.sender.send, clock: clock, timeout: cfg.Timeout, inline: inline, seed: maphash.MakeSeed(),
			pace: &pace{connections: connections(client)}, breaker: storekit.NewBreaker(cfg.Timeout),
		}
		if cfg.NoBreaker {
			b.breaker = storekit.NeverOpen()
		}
		if client != nil || greet != nil {
			b.contact = &contact{
				greet: greet, breaker: b.breaker, clock: clock, timeout: cfg.Timeout, notices: notices,
				prefix: cfg.Prefix, reload: s.reload, pace: b.pace,
			}
			b.contact.client.Store(client)
		}
		return b
	}
	s.first = s.newBatcher(single, greet)
	return s
}

// of returns the batcher of a batch.
func (s *servers) of(ctx context.Context, b *batch) *batcher {
	if s.named == nil {
		return s.first
	}
	server, err := s.named(ctx, b.keys[0])
	if err != nil || server == nil {
		return s.first
	}
	address := server.Options().Addr
	found, ok := s.others.Load(address)
	if !ok {
		s.drop()
		own := s.newBatcher(server, nil)
		own.sample = b.keys[0]
		found, _ = s.others.LoadOrStore(address, own)
	}
	other := found.(*batcher)
	if other.contact.client.Load() != server { // the client has left the server, and come back to it
		other.contact.client.Store(server)
	}
	return other
}

// drop forgets servers that have left the topology, so that they do not pile up as addresses change.
func (s *servers) drop() {
	s.others.Range(func(address, other any) bool {
		if !s.holds(address.(string), other.(*batcher)) {
			s.others.CompareAndDelete(address, other)
		}
		return true
	})
}

// holds reports whether the topology names the server, as far as the latest key that was sent to it tells: that is one
// of its keys unless the server has left or its slot has moved, and in the latter case the next key brings it back.
func (s *servers) holds(address string, b *batcher) bool {
	b.mu.Lock()
	key := b.sample
	b.mu.Unlock()
	server, err := s.named(context.Background(), key)
	return err == nil && server != nil && server.Options().Addr == address
}

// each passes the servers on that the topology names.
func (s *servers) each(f func(address string, b *batcher)) {
	if s.named == nil {
		f(s.address, s.first)
		return
	}
	s.drop()
	known := false
	s.others.Range(func(address, other any) bool {
		known = true
		f(address.(string), other.(*batcher))
		return true
	})
	if !known { // the topology is not known yet
		f(s.address, s.first)
	}
}

func (s *servers) healthy() bool {
	healthy := true
	s.each(func(_ string, b *batcher) {
		if b.breaker.Open() {
			healthy = false
			b.knock()
		}
	})
	return healthy
}

// refusesSeveralKeys reports whether the error says that keys of two clients cannot be in one call, as services answer
// that look like one server and are many. From then on none are.
func (s *servers) refusesSeveralKeys(err error) bool {
	if !redis.HasErrorPrefix(err, "CROSSSLOT") {
		return false
	}
	s.sender.perKey.Store(true)
	return true
}

// masterOf finds the master of a key in what the client knows of the cluster. Before it knows anything the client
// would ask the cluster, so until the first answer no master is named.
func masterOf(c *redis.ClusterClient, answered *atomic.Bool) func(context.Context, string) (*redis.Client, error) {
	return func(ctx context.Context, key string) (*redis.Client, error) {
		if !answered.Load() {
			return nil, nil
		}
		return c.MasterForKey(ctx, key)
	}
}

func shardOf(c *redis.Ring) func(context.Context, string) (*redis.Client, error) {
	return func(_ context.Context, key string) (*redis.Client, error) { return c.GetShardClientForKey(key) }
}
