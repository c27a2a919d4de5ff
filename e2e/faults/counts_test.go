package faults_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/e2e/faults/proxy"
	"github.com/httplimit/httplimit/e2e/servers"
)

// kinds are the servers for rows that say the same of each.
func kinds(t *testing.T, o options, row func(t *testing.T, r *rig)) {
	t.Run("redis", func(t *testing.T) { row(t, startRedis(t, o)) })
	t.Run("memcached", func(t *testing.T) { row(t, startMemcached(t, o)) })
}

// decides reports whether a request to a server is one that counts.
func decides(request []byte) bool {
	return bytes.Contains(request, []byte("evalsha")) || bytes.HasPrefix(request, []byte("incr"))
}

// spent returns how many units of a client the store has counted.
func (s *service) spent(t *testing.T, path, client string) int {
	t.Helper()
	v, err := s.Peek(context.Background(), path, client)
	if err != nil {
		t.Fatal(err)
	}
	return int(v.Limit.Requests - v.Remaining)
}

// The server has executed a command, and its answer is lost: the request is left undecided and is counted once, because
// a command that may have been executed is not sent again.
func TestAnswersLost(t *testing.T) {
	kinds(t, options{timeout: patience, steadfast: true}, func(t *testing.T, r *rig) {
		const requests = 60
		s := startService(t, r.store)
		s.ask(open, "client") // the server knows the script now, or the item
		decisions := 0
		r.proxy.Set(proxy.Fault{Answer: func(request []byte) proxy.Action {
			if !decides(request) {
				return proxy.Action{}
			}
			decisions++
			return proxy.Action{Lose: decisions%3 == 0}
		}})
		for range requests {
			if got := s.ask(open, "client"); got.fault != "" || got.status != http.StatusOK {
				t.Errorf("got %d %s, want 200", got.status, got.fault)
			}
		}
		r.proxy.Set(proxy.Fault{})
		if got, want := s.seen.undecided(), requests/3; got != want {
			t.Errorf("%d requests were left undecided, want %d", got, want)
		}
		if got, want := s.spent(t, open, "client"), 1+requests; got != want {
			t.Errorf("%d units were spent by %d requests, want one by each", got, want)
		}
	})
}

// The scripts of a server are flushed again and again: no client notices.
func TestRedisScriptFlushLoop(t *testing.T) {
	const requests = 100 // of each worker
	r := startRedis(t, options{timeout: patience})
	s := startService(t, r.store)
	stop := make(chan struct{})
	var flushes, clients sync.WaitGroup
	flushes.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				r.do(t, "SCRIPT", "FLUSH")
			}
		}
	})
	for range workers {
		clients.Go(func() {
			for range requests {
				if got := s.ask(open, "client"); got.fault != "" {
					t.Error(got.fault)
				}
			}
		})
	}
	clients.Wait()
	close(stop)
	flushes.Wait()
	if got := s.seen.undecided(); got != 0 {
		t.Errorf("%d requests were left undecided, want none", got)
	}
	if got, want := s.spent(t, open, "client"), requests*workers; got != want {
		t.Errorf("%d units were spent, want %d", got, want)
	}
}

// A thousand requests of one client at the same moment.
func TestThousandAtOnce(t *testing.T) {
	row := func(t *testing.T, r *rig) {
		s := startService(t, r.store)
		handler := s.Handler(http.HandlerFunc(answer))
		ask := func() int {
			request := httptest.NewRequest(http.MethodGet, "/"+local, nil)
			request.Header.Set("X-Client", "client")
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, request)
			return w.Code
		}
		var admitted atomic.Int64
		start := make(chan struct{})
		var clients sync.WaitGroup
		for range 1000 {
			clients.Go(func() {
				<-start
				switch status := ask(); status {
				case http.StatusOK:
					admitted.Add(1)
				case http.StatusTooManyRequests:
				default:
					t.Errorf("got %d, want 200 or 429", status)
				}
			})
		}
		close(start)
		clients.Wait()
		if got := s.seen.undecided(); got != 0 {
			t.Errorf("%d requests were left undecided, want none", got)
		}
		if r.client != nil && admitted.Load() != quota {
			t.Errorf("admitted: %d of a thousand, want %d", admitted.Load(), quota)
		}
		// memcached may refuse some too early while they race; what remains is there for later requests.
		servers.Await(t, "the quota is spent", func() bool {
			if ask() == http.StatusOK {
				admitted.Add(1)
			}
			return s.spent(t, local, "client") >= quota
		})
		if got := admitted.Load(); got != quota {
			t.Errorf("admitted: %d, want %d", got, quota)
		}
	}
	t.Run("redis", func(t *testing.T) { row(t, startRedis(t, options{timeout: patience})) })
	t.Run("memcached", func(t *testing.T) {
		// Each call has a connection of its own, and memcached takes 1024 by default.
		row(t, startMemcached(t, options{timeout: patience, server: []string{"-c", "4096"}}))
	})
}

// One answer is late. Callers in the same flight wait for it; others are not delayed.
func TestOneAnswerLate(t *testing.T) {
	t.Parallel()
	const soon = 4 * time.Second // a flight counts as late after an eighth of the time-out at most
	kinds(t, options{timeout: soon}, func(t *testing.T, r *rig) {
		beside(t)
		s := startService(t, r.store)
		l := s.load(t)
		outlasted := 0 // rounds that took so long that their late answer came after the time-out
		for round := range 10 {
			began := time.Now()
			held, release := make(chan struct{}), make(chan struct{})
			var once sync.Once
			r.proxy.Set(proxy.Fault{Answer: func(request []byte) (a proxy.Action) {
				if decides(request) {
					once.Do(func() { a.Until = release; close(held) })
				}
				return a
			}})
			<-held
			for i := range 20 {
				if got := s.ask(closed, "round "+strconv.Itoa(round)); got.fault != "" || got.status != http.StatusOK {
					t.Errorf("request %d while an answer is late: got %d %s, want 200", i, got.status, got.fault)
				}
			}
			close(release)
			if time.Since(began) > soon/2 {
				outlasted++
			}
		}
		for _, r := range l.end() {
			if r.fault != "" {
				t.Errorf("a client saw: %s", r.fault)
			}
		}
		if got := s.seen.undecided(); got > outlasted && s.halted() < soon/8 {
			t.Errorf("%d requests were left undecided, want at most %d", got, outlasted)
		}
		if got := s.seen.of(local, httplimit.SourceStore, httplimit.ResultAllowed); got > quota {
			t.Errorf("admitted: %d, want at most %d", got, quota)
		}
	})
}
