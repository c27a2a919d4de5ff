package faults_test

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/httplimit/httplimit/e2e/servers"
)

const (
	workers = 8
	pause   = 25 * time.Millisecond // between the requests of one worker: rows run beside each other
)

// load is clients that send requests all the time: for local one client, "hot", far beyond its quota, and for the other
// paths one client for each worker.
type load struct {
	stop func()
	done sync.WaitGroup

	mu      sync.Mutex
	replies []reply
}

// load starts the clients. They send requests until the test or the load ends.
func (s *service) load(t *testing.T) *load {
	stop := make(chan struct{})
	l := &load{stop: sync.OnceFunc(func() { close(stop) })}
	t.Cleanup(func() { l.end() })
	l.done.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(pause):
				s.probe()
			}
		}
	})
	for worker := range workers {
		l.done.Go(func() {
			for n := worker; ; n++ {
				select {
				case <-stop:
					return
				case <-time.After(pause):
				}
				path, client := []string{open, closed, local}[n%3], strconv.Itoa(worker)
				if path == local {
					client = "hot"
				}
				r := s.ask(path, client)
				l.mu.Lock()
				l.replies = append(l.replies, r)
				l.mu.Unlock()
			}
		})
	}
	return l
}

// end stops the load and returns what all clients have seen.
func (l *load) end() []reply {
	l.stop()
	l.done.Wait()
	return l.replies
}

// count is how many answers have come to requests sent since, for a path and with a status.
func (l *load) count(since time.Time, path string, status int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, r := range l.replies {
		if r.path == path && r.status == status && r.start.After(since) {
			n++
		}
	}
	return n
}

// some waits for enough answers, to requests sent since, that have the status.
func (l *load) some(t *testing.T, since time.Time, path string, status int) {
	t.Helper()
	const enough = 30
	servers.Await(t, path+" answers "+strconv.Itoa(status), func() bool { return l.count(since, path, status) >= enough })
}
