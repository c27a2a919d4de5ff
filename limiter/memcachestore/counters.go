package memcachestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/httplimit/httplimit/limiter/kvstore"
)

const (
	// longestRelative is where memcached takes a time to live for a date.
	longestRelative = 30 * 24 * time.Hour

	// races bounds how often an item may come and go between the two commands that create it.
	races = 3
)

var errRace = errors.New("memcachestore: an item came and went while it was increased")

// counters is a [kvstore.KV] of memcached's numbers. The client has no contexts: deadlines are left to the caller, or
// kept by not beginning what could not end in time.
type counters struct {
	client  *memcache.Client
	prefix  string
	longest time.Duration // that a command can take; 0 if the caller keeps deadlines
}

// Get reads all keys in one call for each server. A server that fails makes it fail, although others answered: a
// count that could not be read is not 0.
func (c *counters) Get(ctx context.Context, keys ...string) ([]int64, error) {
	if err := c.timeFor(ctx); err != nil {
		return nil, err
	}
	prefixed := make([]string, len(keys))
	for i, key := range keys {
		prefixed[i] = c.prefix + key
	}
	items, err := c.client.GetMulti(prefixed)
	if err != nil {
		return nil, err
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
			return nil, fmt.Errorf("memcachestore: item %q: %w; Reset deletes it", key, kvstore.ErrValue)
		}
		counts[i] = toCount(n)
	}
	return counts, nil
}

// Add is incr or decr. incr does not create: the first one adds the item, and where another was faster it is
// increased after all. No command is repeated whose outcome is unknown.
func (c *counters) Add(ctx context.Context, key string, delta int64, ttl time.Duration) (int64, error) {
	key = c.prefix + key
	if err := c.timeFor(ctx); err != nil {
		return 0, err
	}
	if delta == -math.MaxInt64 { // forget, whatever it is
		if err := c.client.Delete(key); !errors.Is(err, memcache.ErrCacheMiss) {
			return 0, err
		}
		return 0, nil
	}
	if delta <= 0 {
		n, err := c.client.Decrement(key, uint64(-delta)) // stops at 0
		if errors.Is(err, memcache.ErrCacheMiss) {
			return 0, nil
		}
		return toCount(n), explain(key, err)
	}
	for range races {
		n, err := c.client.Increment(key, uint64(delta))
		if !errors.Is(err, memcache.ErrCacheMiss) {
			return toCount(n), explain(key, err)
		}
		if err := c.timeFor(ctx); err != nil {
			return 0, err
		}
		err = c.client.Add(&memcache.Item{
			Key:        key,
			Value:      strconv.AppendInt(nil, delta, 10),
			Expiration: expiration(time.Now(), ttl),
		})
		if !errors.Is(err, memcache.ErrNotStored) {
			return delta, err
		}
		if err := c.timeFor(ctx); err != nil {
			return 0, err
		}
	}
	return 0, errRace
}

// timeFor tells whether a command begun now ends before ctx does.
func (c *counters) timeFor(ctx context.Context) error {
	if deadline, ok := ctx.Deadline(); ok && c.longest > 0 && time.Until(deadline) < c.longest {
		return fmt.Errorf("memcachestore: no time left for another command: %w", context.DeadlineExceeded)
	}
	return nil
}

// expiration is what memcached is told: seconds, or the date beyond 30 days. Its clock ticks once a second, so an
// item may end a second early, and a date another one by what now is past the second.
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

// explain finds the refusal to change what is no number. The client has no value for it, and nothing else that incr
// and decr are refused for can come from here.
func explain(key string, err error) error {
	if err != nil && strings.HasPrefix(err.Error(), "memcache: client error: ") {
		return fmt.Errorf("memcachestore: item %q: %w (%w); Reset deletes it", key, kvstore.ErrValue, err)
	}
	return err
}
