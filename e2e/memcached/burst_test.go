package memcached_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/e2e/servers"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memcachestore"
)

// A client that sends hundreds of requests at once over HTTP gets no more than its limit, nearly all are decided, and
// so are those of a bystander. Undecided ones are answered 503 here. On a machine with other work some bursts take
// longer than the 50 ms, so a few good ones among many are enough; what passes is counted in all of them.
func TestBurstOverHTTP(t *testing.T) {
	const requests, good, rounds = 200, 2, 60
	server := servers.Memcached(t)
	for _, tc := range []struct {
		idle int
		most int64
	}{{2, 5}, {64, 100}} {
		t.Run(fmt.Sprintf("MaxIdleConns %d, limit %d", tc.idle, tc.most), func(t *testing.T) {
			client := memcache.New(server.Addr())
			client.MaxIdleConns = tc.idle
			t.Cleanup(func() { client.Close() })
			prefix := fmt.Sprintf("burst-%d-%d:", tc.idle, tc.most)
			store, err := memcachestore.New(client, memcachestore.Config{Prefix: prefix})
			if err != nil {
				t.Fatal(err)
			}
			m, err := httplimit.New(httplimit.Config{Store: store, Rules: []httplimit.Rule{{
				Name: "client", Key: httplimit.Header("X-Client"), Limit: limiter.PerHour(tc.most),
				Failure: httplimit.FailClosed,
			}}})
			if err != nil {
				t.Fatal(err)
			}
			service := m.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			ts := httptest.NewServer(service)
			defer ts.Close()
			transport := &http.Transport{MaxIdleConnsPerHost: requests}
			defer transport.CloseIdleConnections()
			get := func(name string) int {
				r, err := http.NewRequest(http.MethodGet, ts.URL, nil)
				if err != nil {
					t.Error(err)
					return 0
				}
				r.Header.Set("X-Client", name)
				answer, err := transport.RoundTrip(r)
				if err != nil {
					t.Error(err)
					return 0
				}
				answer.Body.Close()
				return answer.StatusCode
			}
			found, fewest := 0, int64(requests)
			for round := 0; round < rounds && found < good; round++ {
				passed, undecided, asked, unanswered := httpBurst(requests, fmt.Sprint("client", round), get)
				if passed > tc.most || undecided == 0 && passed != tc.most {
					t.Errorf("round %d: %d passed, %d undecided; want at most %d, and all if all are decided",
						round, passed, undecided, tc.most)
				}
				fewest = min(fewest, undecided)
				if undecided*20 <= requests && unanswered*20 <= asked {
					found++
				}
			}
			if found < good {
				t.Errorf("%d good bursts of %d, want %d; at best %d of %d undecided", found, rounds, good, fewest, requests)
			}
		})
	}
}

// httpBurst sends so many requests of one client at once, while a bystander asks again and again.
func httpBurst(n int, client string, get func(string) int) (passed, undecided, asked, unanswered int64) {
	var passes, failures atomic.Int64
	var clients, others sync.WaitGroup
	start, done := make(chan struct{}), make(chan struct{})
	for range n {
		clients.Go(func() {
			<-start
			switch get(client) {
			case http.StatusOK:
				passes.Add(1)
			case http.StatusServiceUnavailable:
				failures.Add(1)
			}
		})
	}
	others.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			asked++
			if get(fmt.Sprint("bystander of ", client)) == http.StatusServiceUnavailable {
				unanswered++
			}
			time.Sleep(time.Millisecond) // a client's own pace
		}
	})
	close(start)
	clients.Wait()
	close(done)
	others.Wait()
	return passes.Load(), failures.Load(), asked, unanswered
}
