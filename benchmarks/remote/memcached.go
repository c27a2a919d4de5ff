package main

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memcachestore"
)

func memcachedSubjects() []subject {
	return []subject{
		{name: "none", open: none, runs: allowed, kind: floor},
		{name: "httplimit", open: httplimitMemcached, runs: always},
		{name: "httplimit-direct", open: httplimitMemcachedDirect, runs: allowed, kind: variant},
		{name: "httplimit-nocache", open: httplimitMemcachedNoCache, runs: refused, kind: variant},
		{name: "get+incr", open: getIncr, runs: always},
	}
}

// answerTime is for one command; a decision has four times that. It is short, as a store reads the previous window
// again and again until that has passed since it ended.
const answerTime = time.Second / 4

func newMemcache(addr string) *memcache.Client {
	client := memcache.New(addr)
	client.MaxIdleConns, client.Timeout = 64, answerTime
	return client
}

func httplimitMemcached(addr string, limit int64, window time.Duration) (*opened, error) {
	return httplimitMemcachedStore(addr, limit, window, memcachestore.Config{})
}

// httplimitMemcachedNoCache asks the server for every refusal.
func httplimitMemcachedNoCache(addr string, limit int64, window time.Duration) (*opened, error) {
	return httplimitMemcachedStore(addr, limit, window, memcachestore.Config{DenyCache: -1})
}

// httplimitMemcachedDirect trusts the client's Timeout, as get+incr does.
func httplimitMemcachedDirect(addr string, limit int64, window time.Duration) (*opened, error) {
	return httplimitMemcachedStore(addr, limit, window, memcachestore.Config{Direct: true})
}

func httplimitMemcachedStore(
	addr string,
	limit int64,
	window time.Duration,
	cfg memcachestore.Config,
) (*opened, error) {
	client := newMemcache(addr)
	cfg.Timeout = 4 * answerTime
	store, err := memcachestore.New(client, cfg)
	if err != nil {
		return nil, err
	}
	l, err := limiter.New(store, "api/ip", limiter.Per(limit, window))
	if err != nil {
		return nil, err
	}
	return shared(func(ctx context.Context, key string) (bool, error) {
		d, err := l.Allow(ctx, key)
		return d.Allowed, err
	}, func() { _ = client.Close() }), nil
}

// getIncr is the least that a sliding window over two counters takes, as the originals of this design do it: read both,
// then add to one.
func getIncr(addr string, limit int64, window time.Duration) (*opened, error) {
	client := newMemcache(addr)
	decide := func(_ context.Context, key string) (bool, error) {
		now := time.Now()
		turn := now.Truncate(window)
		number := turn.Unix() / int64(window/time.Second)
		counters := []string{key + ":" + strconv.FormatInt(number-1, 10), key + ":" + strconv.FormatInt(number, 10)}
		found, err := client.GetMulti(counters)
		if err != nil {
			return false, err
		}
		previous, err := count(found[counters[0]])
		if err != nil {
			return false, err
		}
		current, err := count(found[counters[1]])
		if err != nil {
			return false, err
		}
		left := 1 - float64(now.Sub(turn))/float64(window)
		if int64(float64(previous)*left)+current >= limit {
			return false, nil
		}
		return true, increment(client, counters[1], window)
	}
	return shared(decide, func() { _ = client.Close() }), nil
}

func count(item *memcache.Item) (int64, error) {
	if item == nil {
		return 0, nil
	}
	return strconv.ParseInt(string(item.Value), 10, 64)
}

func increment(client *memcache.Client, key string, window time.Duration) error {
	for {
		_, err := client.Increment(key, 1)
		if !errors.Is(err, memcache.ErrCacheMiss) {
			return err
		}
		err = client.Add(&memcache.Item{Key: key, Value: []byte("1"), Expiration: int32(2 * window / time.Second)})
		if !errors.Is(err, memcache.ErrNotStored) {
			return err
		}
	}
}
