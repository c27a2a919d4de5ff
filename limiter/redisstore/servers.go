package redisstore

import (
	"context"
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit/limiter/storekit"
)

// servers finds the batcher of each batch: one for a single server or a Sentinel group, one for each master of a
// Cluster or shard of a Ring, one for all where nothing is known of the client.
type servers struct {
	sender *sender
	// address names the server that holds a key; nil where there is one batcher. It must not block.
	address    func(ctx context.Context, key string) (string, error)
	newBatcher func() *batcher
	first      *batcher // for all that is not known to belong elsewhere
	others     sync.Map // of *batcher by address; as many as servers were seen
}

func newServers(client redis.UniversalClient, cfg Config, clock *storekit.Clock) *servers {
	s := &servers{sender: &sender{
		client: client,
		fast:   newScript(fastSource), general: newScript(generalSource),
		time: serverTime{clock: clock},
	}}
	inline := false
	switch c := client.(type) {
	case *redis.Client:
		inline = c.Options().ContextTimeoutEnabled
	case *redis.ClusterClient:
		inline = c.Options().ContextTimeoutEnabled
		s.address = masterOf(c, &s.sender.answered)
		s.sender.perKey.Store(true)
	case *redis.Ring:
		inline = c.Options().ContextTimeoutEnabled
		s.address = shardOf(c)
		s.sender.perKey.Store(true)
	default:
		s.sender.perKey.Store(true)
	}
	if !inline {
		cfg.Logger.Info("redisstore: the client ignores deadlines while it reads, " +
			"which costs a goroutine for every call: set ContextTimeoutEnabled in its options")
	}
	s.newBatcher = func() *batcher {
		b := &batcher{
			send: s.sender.send, clock: clock, timeout: cfg.Timeout, inline: inline, seed: maphash.MakeSeed(),
		}
		if !cfg.NoBreaker {
			b.breaker = storekit.NewBreaker(cfg.Timeout)
		}
		return b
	}
	s.first = s.newBatcher()
	return s
}

// of returns the batcher of a batch.
func (s *servers) of(ctx context.Context, b *batch) *batcher {
	if s.address == nil {
		return s.first
	}
	address, err := s.address(ctx, b.keys[0])
	if err != nil || address == "" {
		return s.first
	}
	if other, ok := s.others.Load(address); ok {
		return other.(*batcher)
	}
	other, _ := s.others.LoadOrStore(address, s.newBatcher())
	return other.(*batcher)
}

func (s *servers) healthy() bool {
	open := s.first.breaker.Open()
	s.others.Range(func(_, other any) bool {
		open = open || other.(*batcher).breaker.Open()
		return !open
	})
	return !open
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
func masterOf(c *redis.ClusterClient, answered *atomic.Bool) func(context.Context, string) (string, error) {
	return func(ctx context.Context, key string) (string, error) {
		if !answered.Load() {
			return "", nil
		}
		master, err := c.MasterForKey(ctx, key)
		if err != nil {
			return "", err
		}
		return master.Options().Addr, nil
	}
}

func shardOf(c *redis.Ring) func(context.Context, string) (string, error) {
	return func(_ context.Context, key string) (string, error) {
		shard, err := c.GetShardClientForKey(key)
		if err != nil {
			return "", err
		}
		return shard.Options().Addr, nil
	}
}
