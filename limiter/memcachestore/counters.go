package memcachestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/httplimit/httplimit/limiter/kvstore"
)

const (
	// longestRelative is the longest time to live that memcached does not take for a date.
	longestRelative = 30 * 24 * time.Hour

	// createAttempts bounds how often an item may come and go between the two commands that create it.
	createAttempts = 3

	// mostClosed bounds how often a read is repeated because a connection was closed. A server that closes each of them
	// at once must not be asked for ever.
	mostClosed = 128
)

var _ kvstore.Reconnector = (*counters)(nil)

var errRaced = errors.New("memcachestore: an item came and went while it was increased")

// counters is a [kvstore.KV] over memcached's numbers. The client knows no contexts: either the caller stops waiting at
// its deadline, or a command is not begun that could not end in time.
type counters struct {
	client  *memcache.Client
	prefix  string
	longest time.Duration // that a command can take; 0 if the caller stops waiting
}

// Get reads all keys with one command for each server. It fails if one server fails, although others answered: a count
// that could not be read is not 0.
func (c *counters) Get(ctx context.Context, keys ...string) ([]int64, error) {
	prefixed := make([]string, len(keys))
	for i, key := range keys {
		prefixed[i] = c.prefix + key
	}
	items, err := c.getMulti(ctx, prefixed)
	if err != nil {
		return nil, timeoutError(err)
	}
	counts := make([]int64, len(keys))
	for i, key := range prefixed {
		item, ok := items[key]
		if !ok {
			continue
		}
		// decr leaves spaces where a number became shorter.
		n, err := strconv.ParseUint(string(bytes.TrimSpace(item.Value)), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("memcachestore: an item of another program: %w; Reset deletes it", kvstore.ErrValue)
		}
		counts[i] = toCount(n)
	}
	return counts, nil
}

// getMulti reads again where a connection was found closed: after a restart of memcached all those are that the client
// keeps idle, and many callers may wait for this one read. Unlike incr it may be repeated.
func (c *counters) getMulti(ctx context.Context, keys []string) (items map[string]*memcache.Item, err error) {
	idle := c.client.MaxIdleConns
	if idle <= 0 {
		idle = memcache.DefaultMaxIdleConns
	}
	for range min(idle, mostClosed) + 1 {
		if err := c.checkTime(ctx); err != nil {
			return nil, err
		}
		if items, err = c.client.GetMulti(keys); !isClosed(err) || ctx.Err() != nil {
			break
		}
	}
	return items, err
}

// Add is incr, decr or, for a delta of -[math.MaxInt64], delete.
func (c *counters) Add(ctx context.Context, key string, delta int64, ttl time.Duration) (int64, error) {
	key = c.prefix + key
	if err := c.checkTime(ctx); err != nil {
		return 0, err
	}
	switch {
	case delta == -math.MaxInt64: // whatever the item holds
		err := c.client.Delete(key)
		if errors.Is(err, memcache.ErrCacheMiss) {
			return 0, nil
		}
		return 0, timeoutError(err)
	case delta <= 0:
		n, err := c.client.Decrement(key, uint64(-delta)) // stops at 0
		if errors.Is(err, memcache.ErrCacheMiss) {
			return 0, nil
		}
		return toCount(n), changeError(err)
	default:
		return c.increase(ctx, key, delta, ttl)
	}
}

// increase adds delta to an item, or creates the item: incr does not. If another caller created it meanwhile, it is
// increased after all. No command is repeated whose outcome is unknown.
func (c *counters) increase(ctx context.Context, key string, delta int64, ttl time.Duration) (int64, error) {
	for range createAttempts {
		n, err := c.client.Increment(key, uint64(delta))
		if !errors.Is(err, memcache.ErrCacheMiss) {
			return toCount(n), changeError(err)
		}
		if err := c.checkTime(ctx); err != nil {
			return 0, err
		}
		err = c.client.Add(&memcache.Item{
			Key:        key,
			Value:      strconv.AppendInt(nil, delta, 10),
			Expiration: expiration(time.Now(), ttl),
		})
		if !errors.Is(err, memcache.ErrNotStored) {
			return delta, timeoutError(err)
		}
		if err := c.checkTime(ctx); err != nil {
			return 0, err
		}
	}
	return 0, errRaced
}

// Reconnect closes the connections that the client keeps idle. The client may be used afterwards, and dials then.
func (c *counters) Reconnect() {
	_ = c.client.Close() // what cannot be closed is dropped all the same
}

// checkTime returns an error if a command that begins now might end after ctx.
func (c *counters) checkTime(ctx context.Context) error {
	if deadline, ok := ctx.Deadline(); ok && c.longest > 0 && time.Until(deadline) < c.longest {
		return fmt.Errorf("memcachestore: no time left for another command: %w", context.DeadlineExceeded)
	}
	return nil
}

// expiration returns a time to live as memcached expects it: in seconds, or as a date beyond 30 days. The clock of
// memcached ticks once a second, so an item may expire a second early, and a date up to another second, by the fraction
// of now.
func expiration(now time.Time, ttl time.Duration) int32 {
	seconds := int64((ttl+time.Second-1)/time.Second) + 1
	if seconds > int64(longestRelative/time.Second) {
		seconds += now.Unix() + 1
	}
	if seconds > math.MaxInt32 {
		return 0 // the client has no later date: never, rather than at once
	}
	return int32(seconds)
}

func toCount(n uint64) int64 { return int64(min(n, math.MaxInt64)) }
