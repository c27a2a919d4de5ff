package faults_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/e2e/faults/proxy"
	"github.com/httplimit/httplimit/limiter"
)

const leavers = 20

// guarded is a service of one rule, which refunds every request that ends with a status and fails closed.
type guarded struct {
	*httplimit.Middleware
	handler http.Handler
	url     string
	came    chan struct{} // one for each request that gets to the server
	left    chan struct{} // one for each of which the server notices that its client has left
	called  chan struct{} // one for each that gets to the handler,
	proceed chan struct{} // which then waits for this
	ended   chan struct{} // one for each request that is over
}

func guard(t *testing.T, store limiter.Store) *guarded {
	t.Helper()
	m, err := httplimit.New(httplimit.Config{Store: store, Rules: []httplimit.Rule{{
		Name: closed, Key: httplimit.Header("X-Client"), Limit: limiter.PerDay(plenty), Failure: httplimit.FailClosed,
		CountStatus: func(int) bool { return false },
	}}})
	if err != nil {
		t.Fatal(err)
	}
	g := &guarded{Middleware: m, proceed: make(chan struct{})}
	for _, events := range []*chan struct{}{&g.came, &g.left, &g.called, &g.ended} {
		*events = make(chan struct{}, 2*leavers)
	}
	g.handler = m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.called <- struct{}{}
		select {
		case <-g.proceed:
			answer(w, r)
		case <-r.Context().Done():
		}
	}))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.came <- struct{}{}
		stop := context.AfterFunc(r.Context(), func() { g.left <- struct{}{} })
		defer func() {
			if stop() && r.Context().Err() != nil { // the handler noticed first
				g.left <- struct{}{}
			}
			g.ended <- struct{}{}
		}()
		g.handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	g.url = server.URL
	return g
}

// ask sends a request over a connection of its own, and returns the status, or 0 if the client has left before.
func (g *guarded) ask(ctx context.Context, t *testing.T) int {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, g.url, nil)
	if err != nil {
		t.Error(err)
		return 0
	}
	request.Close = true
	request.Header.Set("X-Client", "client")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0
	}
	response.Body.Close()
	return response.StatusCode
}

// sendAll sends a request from each client. They leave when ctx ends; wait returns when all have left.
func (g *guarded) sendAll(ctx context.Context, t *testing.T) (wait func()) {
	var clients sync.WaitGroup
	for range leavers {
		clients.Go(func() {
			if got := g.ask(ctx, t); got != 0 {
				t.Errorf("a client who has left got %d", got)
			}
		})
	}
	return clients.Wait
}

// receive waits for n events.
func receive(t *testing.T, what string, events <-chan struct{}, n int) {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for i := range n {
		select {
		case <-events:
		case <-timer.C:
			t.Fatalf("%s: %d of %d within %v", what, i, n, patience)
		}
	}
}

// check checks that each client who has left has spent a unit, that no failure was recorded, and that the next request
// passes. A request that gets a status is refunded.
func (g *guarded) check(t *testing.T) {
	t.Helper()
	close(g.proceed)
	if got := g.ask(context.Background(), t); got != http.StatusOK {
		t.Errorf("the next request: got %d, want 200", got)
	}
	receive(t, "the next request ends", g.ended, 1)
	if ill := g.Health(); len(ill) > 0 {
		t.Errorf("the store is taken to be away: %v", ill)
	}
	v, err := g.Peek(context.Background(), closed, "client")
	if err != nil {
		t.Fatal(err)
	}
	if got := plenty - int(v.Remaining); got != leavers {
		t.Errorf("%d units are spent by clients who left, want %d", got, leavers)
	}
}

func TestClientsLeaveBeforeTheDecision(t *testing.T) {
	kinds(t, options{timeout: patience}, func(t *testing.T, r *rig) {
		g := guard(t, r.store)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		for range leavers {
			request := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
			request.Header.Set("X-Client", "client")
			w := httptest.NewRecorder()
			g.handler.ServeHTTP(w, request)
			if w.Code == http.StatusServiceUnavailable {
				t.Errorf("answered %d %v %s, want the decision of the store", w.Code, w.Header(), w.Body)
			}
		}
		receive(t, "requests get to the handler", g.called, leavers)
		g.check(t)
	})
}

// The store is asked, and the answer takes longer than the clients wait. Each is counted, once, and what the store says
// is carried out. No policy applies: that a client leaves is no failure of the store.
func TestClientsLeaveDuringTheDecision(t *testing.T) {
	kinds(t, options{timeout: patience}, func(t *testing.T, r *rig) {
		g := guard(t, r.store)
		if _, err := g.Peek(context.Background(), closed, "client"); err != nil { // a connection, and the script
			t.Fatal(err)
		}
		asked, release := make(chan struct{}, 8*leavers), make(chan struct{})
		r.proxy.Set(proxy.Fault{Answer: func([]byte) proxy.Action {
			asked <- struct{}{}
			return proxy.Action{Until: release}
		}})
		ctx, leave := context.WithCancel(context.Background())
		wait := g.sendAll(ctx, t)
		receive(t, "requests come", g.came, leavers)
		receive(t, "the store is asked", asked, 1)
		leave()
		wait()
		receive(t, "the server notices", g.left, leavers)
		r.proxy.Set(proxy.Fault{})
		close(release)
		receive(t, "requests get to the handler", g.called, leavers)
		receive(t, "requests end", g.ended, leavers)
		g.check(t)
	})
}

// A client that hangs up while the handler works is counted, whatever CountStatus says: else attempts would be free.
func TestClientsLeaveAfterTheDecision(t *testing.T) {
	kinds(t, options{timeout: patience}, func(t *testing.T, r *rig) {
		g := guard(t, r.store)
		ctx, leave := context.WithCancel(context.Background())
		wait := g.sendAll(ctx, t)
		receive(t, "requests get to the handler", g.called, leavers)
		leave()
		wait()
		receive(t, "requests end", g.ended, leavers)
		g.check(t)
	})
}
