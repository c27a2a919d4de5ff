package memcachestore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/kvstore"
	"github.com/httplimit/httplimit/limiter/storekit"
)

const (
	// DefaultPrefix begins the keys of a Store without a Prefix.
	DefaultPrefix = "httplimit:"

	// DefaultTimeout is far above the time that a server in the same network needs, and far below what a visitor
	// notices.
	DefaultTimeout = 50 * time.Millisecond

	longestPrefix = 64 // bytes; memcached takes keys of 250, and kvstore's have up to 180
)

var errPingExited = errors.New("memcachestore: the client ended its goroutine")

var _ limiter.StatsReporter = (*Store)(nil)

// Config holds the settings of a [Store]. The zero value works.
type Config struct {
	// Prefix begins every key, such as "shop:". Services that share a server and must not share counts need
	// different ones. Up to 64 printable ASCII characters, no spaces. Empty means [DefaultPrefix].
	Prefix string
	// Timeout is the longest time for a decision, all commands together, whatever the Timeout of the client is. 0
	// means [DefaultTimeout].
	Timeout time.Duration
	// DenyCache is the number of refusals that are remembered, so that a client that goes on asking costs no call.
	// 0 means 65,536, below 0 none.
	DenyCache int
	// NoBreaker keeps on calling servers that do not answer. Otherwise decisions fail at once while all of them
	// are down.
	NoBreaker bool
	// Direct calls the client in the caller's goroutine, which saves some 3 µs a decision. It needs a client whose
	// Timeout is set, and at most a quarter of this Timeout: a command is begun only while there is time for
	// twice that, to dial and to be answered. A decision whose time is over subtracts nothing then: units that it
	// has added stay spent until the window has passed.
	Direct bool
	// Address is what [Store.Stats] calls the servers, such as "cache1:11211,cache2:11211": the client does not tell
	// them. It changes nothing else.
	Address string
	// Name is what Stats calls the store, in metrics too. It changes nothing else.
	Name string
	// Now is a clock for tests; nil means the system's, read once and monotonic from there. Items expire by
	// memcached's own clock.
	Now func() time.Time
	// Skew is the largest difference between the clocks of the processes that share the servers; 0 means 100 ms.
	Skew time.Duration
}

// Store is a [limiter.Store] on memcached. Make one with [New] and share it; it is safe for concurrent use and has
// nothing to close. The client stays the caller's; the store closes its idle connections when calls have timed out, see
// the package comment.
type Store struct {
	engine *kvstore.Store
	client *memcache.Client
}

// New returns a store over client. It never dials, so a service starts while memcached is down. Every fault of the
// Config is reported at once.
func New(client *memcache.Client, cfg Config) (*Store, error) {
	var faults []error
	if client == nil {
		faults = append(faults, errors.New("memcachestore: client is nil, want one such as memcache.New makes"))
	}
	if !legalPrefix(cfg.Prefix) {
		faults = append(faults, fmt.Errorf(
			"memcachestore: Prefix is %q, want up to %d printable ASCII characters without spaces",
			cfg.Prefix, longestPrefix))
	}
	if cfg.Prefix == "" {
		cfg.Prefix = DefaultPrefix
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultTimeout
	}
	kv := &counters{client: client, prefix: cfg.Prefix}
	if cfg.Direct && client != nil {
		kv.longest = 2 * client.Timeout
		if client.Timeout <= 0 || client.Timeout > cfg.Timeout/4 {
			faults = append(faults, fmt.Errorf("memcachestore: Direct is set and the client's Timeout is %v, "+
				"want above 0 and at most %v, a quarter of Timeout", client.Timeout, cfg.Timeout/4))
		}
	}
	engine, err := kvstore.New(kv, kvstore.Config{
		Timeout:   cfg.Timeout,
		DenyCache: cfg.DenyCache,
		NoBreaker: cfg.NoBreaker,
		Direct:    cfg.Direct,
		Address:   cfg.Address,
		Name:      cfg.Name,
		Now:       cfg.Now,
		Skew:      cfg.Skew,
	})
	if err != nil {
		faults = append(faults, fmt.Errorf("memcachestore: %w", err))
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return &Store{engine: engine, client: client}, nil
}

// Take is [limiter.Store]'s. Its errors are those of the client, without the keys in their texts, ctx's own, and a
// storekit.UnavailableError while memcached is not asked because it failed, with the cause, or stalls. Every time-out
// wraps [context.DeadlineExceeded], those of the client too. After an error units of the batch may stay spent only
// where an answer of memcached was lost, or subtracting them failed.
func (s *Store) Take(ctx context.Context, charges []limiter.Charge) (taken bool, err error) {
	return s.engine.Take(ctx, charges)
}

// Reset is [limiter.Store]'s. After an error some counters may have been reset.
func (s *Store) Reset(ctx context.Context, charges []limiter.Charge) error {
	return s.engine.Reset(ctx, charges)
}

// Check is [limiter.Checker]'s: it refuses limits that are invalid, and all algorithms but SlidingWindow and
// FixedWindow.
func (s *Store) Check(l limiter.Limit) error { return s.engine.Check(l) }

// Healthy returns false while memcached is not asked because it has failed too often, until a decision has reached it
// again. It is always true with Config.NoBreaker.
func (s *Store) Healthy() bool { return s.engine.Healthy() }

// Ping returns nil if every server answers: to find out at the start of a program whether the configuration is right,
// and not with its first request. The servers are asked one after the other, each for as long as the client's Timeout
// allows; Config.Timeout and the breaker do not matter. When ctx ends Ping returns its error, and the client goes on
// for at most that long.
func (s *Store) Ping(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		err := errPingExited
		defer func() {
			if p := recover(); p != nil {
				err = errors.New("memcachestore: the client panicked: " + storekit.DescribePanic(p))
			}
			done <- err
		}()
		err = s.client.Ping()
	}()
	select {
	case err := <-done:
		if err = timeoutError(err); err != nil {
			return fmt.Errorf("memcachestore: %w", err)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Stats implements [limiter.StatsReporter]. All memcached servers are one, by the name of Config.Address: one breaker
// stands for them. Its Cause names the server that failed, where the client does.
func (s *Store) Stats() limiter.StoreStats { return s.engine.Stats() }

func legalPrefix(prefix string) bool {
	if len(prefix) > longestPrefix {
		return false
	}
	for i := range len(prefix) {
		if prefix[i] <= ' ' || prefix[i] > '~' {
			return false
		}
	}
	return true
}
