package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// Ping greets every server that the client knows, all masters of a Cluster and all shards of a Ring, and returns nil if
// all of them answer: for the start of a program that is not to begin without Redis, or to say in its log why it does.
// Afterwards the client has connections, and the first decisions need not wait for them.
//
// It takes as long as ctx lets it, or the time-outs of the client where ctx has no deadline; Config.Timeout does not
// matter. Its error is the real cause, such as one of dialling, of TLS or of a password that the server does not
// accept.
func (s *Store) Ping(ctx context.Context) error {
	var err error
	switch c := s.servers.sender.client.(type) {
	case *redis.Client:
		err = greet(ctx, c)
	case *redis.ClusterClient:
		err = greetMasters(ctx, c, &s.servers.sender.answered, greet)
	case *redis.Ring:
		err = c.ForEachShard(ctx, greet)
	default:
		err = ping(ctx, c)
	}
	if err != nil {
		return fmt.Errorf("redisstore: %w", unauthenticated(err))
	}
	return nil
}

// greet makes sure that the client has a connection to its server.
func greet(ctx context.Context, client *redis.Client) error {
	fresh, end, err := freshClient(ctx, client.Options())
	if err == nil {
		err = ping(ctx, fresh)
		end()
	}
	if err != nil {
		// A deadline may show as a time-out of the connection first.
		if d, ok := ctx.Deadline(); ok && !time.Now().Before(d) && !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("%w: %w", context.DeadlineExceeded, err)
		}
		return err
	}
	return ping(ctx, client)
}

// greetMasters greets all masters of a Cluster, and learns the topology on the way. Where no address of the client's
// leads anywhere it says why, which the client itself would take long to find out.
func greetMasters(
	ctx context.Context, c *redis.ClusterClient, answered *atomic.Bool,
	greet func(context.Context, *redis.Client) error,
) error {
	if !answered.Load() {
		if err := reachable(ctx, c.Options()); err != nil {
			return err
		}
	}
	return c.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
		err := greet(ctx, master)
		if err == nil {
			answered.Store(true)
		}
		return err
	})
}

// reachable returns nil if one of the addresses can be dialled, else the error of the first.
func reachable(ctx context.Context, o *redis.ClusterOptions) error {
	dial := o.Dialer
	if dial == nil {
		dial = redis.NewDialer(&redis.Options{DialTimeout: o.DialTimeout, TLSConfig: o.TLSConfig})
	}
	faults := make([]error, len(o.Addrs))
	var all sync.WaitGroup
	for i, addr := range o.Addrs {
		all.Go(func() {
			conn, err := dial(ctx, "tcp", addr)
			if err == nil {
				err = conn.Close()
			}
			faults[i] = err
		})
	}
	all.Wait()
	var first error
	for _, err := range faults {
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}
