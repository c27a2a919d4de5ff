package frameworks_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/e2e/servers"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
)

// atOnce is a rule that lets two requests of a user be under way.
func atOnce() httplimit.Rule {
	return httplimit.Rule{
		Name: "r", Key: httplimit.Header("X-User"), Limit: limiter.PerHour(2), InFlight: true,
		Failure: httplimit.FailClosed,
	}
}

// serveAtOnce serves a by a Middleware of rules over store, around everything.
func serveAtOnce(t *testing.T, f framework, store limiter.Store, a app, rules ...httplimit.Rule) process {
	t.Helper()
	m := httplimit.Must(httplimit.New(httplimit.Config{
		Store: store, Namespace: "inflight", Rules: rules, Logger: slog.New(slog.DiscardHandler),
	}))
	a.around = []*httplimit.Middleware{m}
	if a.left == nil {
		a.left = func() {}
	}
	at := listen(t, "tcp4")
	f.serve(t, at, a)
	return process{m, dial(t, at)}
}

// get sends a request of ann.
func (p process) get(t *testing.T, path string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, host+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-User", "ann")
	answer, err := p.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	return answer
}

func (p process) free(t *testing.T) int64 {
	t.Helper()
	v, err := p.m.Peek(t.Context(), "r", "ann")
	if err != nil {
		t.Fatal(err)
	}
	return v.Remaining
}

func (p process) wantFree(t *testing.T, when string, want int64) {
	t.Helper()
	if got := p.free(t); got != want {
		t.Errorf("%s: %d places are free, want %d", when, got, want)
	}
}

// wantRefused checks that a request is refused because all places are taken.
func (p process) wantRefused(t *testing.T, when string) {
	t.Helper()
	answer := p.get(t, "/open")
	if answer.StatusCode != http.StatusTooManyRequests {
		t.Errorf("%s: got %d, want 429", when, answer.StatusCode)
	}
	for name, want := range map[string]string{
		"RateLimit-Policy": `"r";q=2;qu="concurrent-requests"`, "RateLimit": `"r";r=0`, "Retry-After": "1",
	} {
		if got := answer.Header.Get(name); got != want {
			t.Errorf("%s: %s: got %q, want %q", when, name, got, want)
		}
	}
}

// sharedStores makes stores of a Middleware each, which count together.
func sharedStores(t *testing.T) map[string]func(t *testing.T) limiter.Store {
	t.Helper()
	server := servers.Redis(t)
	memory, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]func(t *testing.T) limiter.Store{
		"memory": func(*testing.T) limiter.Store { return memory },
		// With a deny cache: it must not hide what has ended in the other process.
		"Redis": func(t *testing.T) limiter.Store { return redisOf(t, server.Addr(), 0) },
	}
}

// TestRequestsAtOnce: of a user two requests may be under way in all processes together, and a place is free when its
// client has the answer, whatever that is.
func TestRequestsAtOnce(t *testing.T) {
	for name, store := range sharedStores(t) {
		for _, f := range frameworks() {
			t.Run(name+"/"+f.name, func(t *testing.T) {
				under, end := make(chan struct{}), make(chan struct{})
				a := app{item: func(ctx context.Context, id string) reply {
					under <- struct{}{}
					<-end
					return byID(ctx, id)
				}}
				one, other := serveAtOnce(t, f, store(t), a, atOnce()), serveAtOnce(t, f, store(t), a, atOnce())
				for _, id := range []string{"7", "204", "500", "fail", "fail-503", "panic"} {
					answers := make(chan int)
					for _, p := range []process{one, other} {
						go func() { answers <- p.get(t, "/items/"+id).StatusCode }()
						<-under
					}
					one.wantRefused(t, "two are under way")
					other.wantRefused(t, "two are under way")
					end <- struct{}{}
					<-answers
					one.wantFree(t, id+": one has its answer", 1)
					if got := other.get(t, "/open").StatusCode; got != http.StatusOK {
						t.Errorf("%s: one has its answer: the next one got %d, want 200", id, got)
					}
					end <- struct{}{}
					<-answers
					other.wantFree(t, id+": all have their answers", 2)
				}
			})
		}
	}
}

// TestEventsHoldTheirPlace: until the stream has ended; with Fiber, which writes it beside the handler, too.
func TestEventsHoldTheirPlace(t *testing.T) {
	for name, store := range sharedStores(t) {
		for _, f := range streaming() {
			t.Run(name+"/"+f.name, func(t *testing.T) {
				end := make(chan struct{})
				a := app{events: func(_ context.Context, send func(string)) {
					send("data: one\n\n")
					<-end
					send("data: two\n\n")
				}}
				p := serveAtOnce(t, f, store(t), a, atOnce())
				streams := []*http.Response{p.get(t, "/events"), p.get(t, "/events")}
				for _, stream := range streams {
					checkNext(t, stream.Body, "data: one\n\n")
				}
				p.wantRefused(t, "two streams are open")
				close(end)
				for _, stream := range streams {
					checkNext(t, stream.Body, "data: two\n\n")
					if rest, err := io.ReadAll(stream.Body); err != nil || len(rest) > 0 {
						t.Errorf("after the last event: got %q, %v, want the end", rest, err)
					}
				}
				awaitFree(t, p, 2)
			})
		}
	}
}

// awaitFree waits for places that come back after the client has its answer.
func awaitFree(t *testing.T, p process, want int64) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); p.free(t) != want; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d places are free, want %d", p.free(t), want)
		}
	}
}

// TestWebSocketHoldsItsPlace: until its handler has returned; with Fiber that is when it opens.
func TestWebSocketHoldsItsPlace(t *testing.T) {
	for name, store := range sharedStores(t) {
		for _, f := range streaming() {
			t.Run(name+"/"+f.name, func(t *testing.T) {
				through := make(chan struct{}, 8)
				p := serveAtOnce(t, f, store(t), app{left: func() { through <- struct{}{} }}, atOnce())
				open := make([]*websocket.Conn, 2)
				for i := range open {
					conn, _, err := websocket.Dial(t.Context(), host+"/ws", &websocket.DialOptions{
						HTTPClient: p.client, HTTPHeader: http.Header{"X-User": {"ann"}},
					})
					if err != nil {
						t.Fatal(err)
					}
					defer conn.CloseNow()
					checkSentBack(t, conn, "hello")
					open[i] = conn
				}
				if f.streamsLate {
					p.wantFree(t, "two are open", 2)
					return
				}
				p.wantRefused(t, "two are open")
				<-through
				for _, conn := range open {
					conn.Close(websocket.StatusNormalClosure, "")
					<-through
				}
				p.wantFree(t, "both have ended", 2)
			})
		}
	}
}
