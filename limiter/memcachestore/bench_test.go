package memcachestore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memcachestore"
)

// getIncr is the usual limiter on memcached, which ignores races, window boundaries and expiry: read, then increase.
func getIncr(client *memcache.Client, key string, limit uint64) (bool, error) {
	items, err := client.GetMulti([]string{key + "0", key + "1"})
	if err != nil {
		return false, err
	}
	if item, ok := items[key+"1"]; ok {
		n, err := strconv.ParseUint(string(bytes.TrimSpace(item.Value)), 10, 64)
		if err != nil || n >= limit {
			return false, err
		}
	}
	_, err = client.Increment(key+"1", 1)
	if errors.Is(err, memcache.ErrCacheMiss) {
		err = client.Add(&memcache.Item{Key: key + "1", Value: []byte("1"), Expiration: 120})
	}
	return err == nil, err
}

func BenchmarkDecision(b *testing.B) {
	const keys = 10_000
	server := startServer(b)
	client := newClient(b, server)
	client.Timeout = time.Second
	store := newStore(b, client, memcachestore.Config{Timeout: 4 * time.Second, Prefix: newPrefix()})
	direct := newStore(b, client, memcachestore.Config{Timeout: 4 * time.Second, Prefix: newPrefix(), Direct: true})
	limit := limiter.PerHour(1_000_000)
	take := func(store *memcachestore.Store, i uint64) (bool, error) {
		c := [1]limiter.Charge{{Scope: "bench", Key: fmt.Sprint("key", i%keys), Limit: limit, Cost: 1}}
		return store.Take(context.Background(), c[:])
	}
	for _, bench := range []struct {
		name   string
		decide func(i uint64) (bool, error)
	}{
		{"design=get+incr", func(i uint64) (bool, error) {
			return getIncr(client, fmt.Sprint("plain", i%keys, ":"), 1_000_000)
		}},
		{"design=store", func(i uint64) (bool, error) { return take(store, i) }},
		{"design=direct", func(i uint64) (bool, error) { return take(direct, i) }},
	} {
		b.Run(bench.name+"/callers=64", func(b *testing.B) {
			for i := range uint64(keys) { // the first decision on a key costs more
				bench.decide(i)
			}
			var next atomic.Uint64
			b.ReportAllocs()
			b.SetParallelism(32) // on two processors
			b.ResetTimer()
			before, serverBefore := cpuTime(b), server.cpuTime()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if taken, err := bench.decide(next.Add(1)); !taken || err != nil {
						b.Error(taken, err)
					}
				}
			})
			b.ReportMetric(float64((cpuTime(b)-before).Nanoseconds())/float64(b.N), "client-cpu-ns/op")
			b.ReportMetric(float64((server.cpuTime()-serverBefore).Nanoseconds())/float64(b.N), "server-cpu-ns/op")
		})
	}
}

// cpuTime returns the CPU time of memcached so far, in steps of 10 ms; 0 on systems other than Linux.
func (s *server) cpuTime() time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.process.Process.Pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')'):]))
	user, _ := strconv.Atoi(fields[12])
	system, _ := strconv.Atoi(fields[13])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// cpuTime returns the CPU time of this process so far, user and system.
func cpuTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
