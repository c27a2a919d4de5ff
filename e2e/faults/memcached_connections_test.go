package faults_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/httplimit/httplimit/e2e/faults/proxy"
	"github.com/httplimit/httplimit/e2e/servers"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memcachestore"
	"github.com/httplimit/httplimit/limiter/storekit"
)

// All idle connections to memcached go silent, and new ones work. That costs the calls that open the breaker, and not
// one call and one pause for each connection: as each probe of the breaker used up one connection and doubled the
// pause, 16 of them were an outage of ten seconds.
func TestSilentMemcachedConnections(t *testing.T) {
	t.Parallel()
	// With Direct 9 calls open the breaker, else 5; the rest is for a busy machine, on which a good one may be late.
	const most = 15
	for _, idle := range []int{16, 64} {
		for _, direct := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d connections, Direct %v", idle, direct), func(t *testing.T) {
				beside(t)
				p, s := startPooled(t, idle, memcachestore.Config{Timeout: timeout, Direct: direct})
				p.Mute()
				var unanswered int
				servers.Await(t, "a decision", func() bool {
					err := takeOne(s, "key")
					if err != nil && !errors.Is(err, storekit.ErrOpen) {
						unanswered++
					}
					return err == nil
				})
				t.Logf("%d calls without an answer", unanswered)
				if unanswered > most {
					t.Errorf("calls without an answer: got %d, want %d at most, for all %d together", unanswered, most, idle)
				}
				if !s.Healthy() {
					t.Error("the store decides and is not healthy")
				}
			})
		}
	}
}

// Some idle connections go silent. At most one call for each of them gets no answer, and none of those that work is
// dropped.
func TestSomeSilentMemcachedConnections(t *testing.T) {
	beside(t)
	const silent, idle, rounds = 4, 16, 20
	p, s := startPooled(t, idle, memcachestore.Config{Timeout: 2 * timeout})
	p.MuteSome(silent)
	var unanswered atomic.Int64
	for range rounds {
		var all sync.WaitGroup
		for i := range idle {
			all.Go(func() {
				if takeOne(s, fmt.Sprint(i)) != nil {
					unanswered.Add(1)
				}
			})
		}
		all.Wait()
	}
	t.Logf("%d calls without an answer", unanswered.Load())
	if got := unanswered.Load(); got > silent {
		t.Errorf("calls without an answer: got %d of %d, want %d at most", got, rounds*idle, silent)
	}
	if got := p.Open(); got < idle-silent {
		t.Errorf("open connections: got %d, want the %d that work at least", got, idle-silent)
	}
}

// startPooled returns a store on memcached, whose client keeps so many connections, all of them idle, through a proxy.
func startPooled(t *testing.T, idle int, cfg memcachestore.Config) (*proxy.Proxy, *memcachestore.Store) {
	t.Helper()
	p := proxy.New(t, servers.Memcached(t).Addr())
	client := memcache.New(p.Addr())
	client.MaxIdleConns = idle
	client.Timeout = patience
	t.Cleanup(func() { client.Close() })

	p.Set(proxy.Fault{Hold: true})
	var all sync.WaitGroup
	for range idle {
		all.Go(func() {
			if _, err := client.Get("nothing"); !errors.Is(err, memcache.ErrCacheMiss) {
				t.Errorf("a client: got %v, want %v", err, memcache.ErrCacheMiss)
			}
		})
	}
	servers.Await(t, "connections", func() bool { return p.Open() == idle })
	p.Set(proxy.Fault{})
	all.Wait()

	if client.Timeout = 2 * cfg.Timeout; cfg.Direct {
		client.Timeout = cfg.Timeout / 4
	}
	s := memcachedStore(t, client, cfg)
	servers.Await(t, "a decision", func() bool { return takeOne(s, "key") == nil })
	return p, s
}

func takeOne(s limiter.Store, key string) error {
	_, err := s.Take(context.Background(), []limiter.Charge{{
		Scope: "scope", Key: key, Limit: limiter.PerDay(plenty), Cost: 1,
	}})
	return err
}
