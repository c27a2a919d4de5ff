package browser_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/console"
	"github.com/httplimit/httplimit/e2e/servers"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/redisstore"
)

// service is a service with an operators' page, on a socket and over a real Redis. Its clients are whoever they say
// they are in X-Customer: three orders an hour for each, and whoever is refused twice more on /login is banned.
type service struct {
	addr, url string // of the service; of its page
	redis     *servers.Server
	timeout   time.Duration    // of the store
	page      *console.Console // of the process that runs now
	streams   atomic.Int64     // of pages that are open now
	stop      func()
}

func startService(t *testing.T) *service {
	t.Helper()
	return startServiceFor(t, console.LocalOnly, storeTimeout)
}

// storeTimeout is that of the store, on a machine that may be busy.
const storeTimeout = 2 * time.Second

// startServiceFor starts a service whose page viewer may see; at this machine everybody is an operator.
func startServiceFor(t *testing.T, viewer func(*http.Request) bool, timeout time.Duration) *service {
	t.Helper()
	s := &service{redis: servers.Redis(t), timeout: timeout}
	listener := servers.Listen(t)
	s.addr = listener.Addr().String()
	s.url = "http://" + s.addr + "/ops/limits/"
	s.serve(t, listener, viewer)
	t.Cleanup(func() { s.stop() })
	return s
}

// restart ends the service as a new version of it would, and starts it at the same address.
func (s *service) restart(t *testing.T) {
	t.Helper()
	s.stop()
	listener, err := net.Listen("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	s.serve(t, listener, console.LocalOnly)
}

func (s *service) serve(t *testing.T, listener net.Listener, viewer func(*http.Request) bool) {
	t.Helper()
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	page, err := console.New(console.Config{
		Viewer: viewer, Operator: func(*http.Request) (string, bool) { return "alice", true }, Logger: quiet,
	})
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(&redis.Options{
		Addr: s.redis.Addr(), ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1,
	})
	store, err := redisstore.New(client, redisstore.Config{Name: "counters", Timeout: s.timeout, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	handler := http.NewServeMux()
	handler.Handle("/ops/limits/", page)
	handler.HandleFunc("/ops/limits/events", func(w http.ResponseWriter, r *http.Request) {
		s.streams.Add(1)
		defer s.streams.Add(-1)
		page.ServeHTTP(w, r)
	})
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	for path, rule := range serviceRules() {
		m, err := httplimit.New(httplimit.Config{
			Namespace: "shop", Rules: []httplimit.Rule{rule}, Store: store, Observer: page, Logger: quiet,
		})
		if err != nil {
			t.Fatal(err)
		}
		page.Watch(m)
		handler.Handle(path, m.Handler(hello))
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: patience, ErrorLog: slog.NewLogLogger(quiet.Handler(), 0)}
	server.RegisterOnShutdown(page.Close)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	s.page, s.stop = page, func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := errors.Join(server.Shutdown(ctx), server.Close()); err != nil {
			t.Errorf("the service does not stop: %v", err)
		}
		<-served
		_ = client.Close()
		s.stop = func() {}
	}
}

const patience = 30 * time.Second

// serviceRules are of two Middlewares with one store.
func serviceRules() map[string]httplimit.Rule {
	customer := httplimit.Header("X-Customer")
	return map[string]httplimit.Rule{
		"/": {
			Name: "orders", Key: customer, Limit: limiter.PerHour(3), Failure: httplimit.FailOpen,
			Cost: func(*http.Request) (int64, error) { return 1, nil }, // its long name stands on the page of the configuration
		},
		"/login": {
			Name: "login", Key: customer, Limit: limiter.PerHour(3), Failure: httplimit.FailClosed,
			Ban: httplimit.Ban{After: 2, Within: time.Hour, For: time.Hour},
		},
	}
}

// request sends a request of a customer, and returns the status.
func (s *service) request(t *testing.T, customer, path string) int {
	t.Helper()
	return s.send(t, path, func(r *http.Request) { r.Header.Set("X-Customer", customer) }).StatusCode
}

// send sends a GET that set may change, and returns the answer, whose body is read and closed.
func (s *service) send(t *testing.T, path string, set func(*http.Request)) *http.Response {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, "http://"+s.addr+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	set(r)
	client := http.Client{
		Timeout:       patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	return answer
}

// refuse has a customer refused n times.
func (s *service) refuse(t *testing.T, customer, path string, n int) {
	t.Helper()
	for refused, sent := 0, 0; refused < n; sent++ {
		if sent > n+10 {
			t.Fatalf("%s was refused %d times after %d requests, want %d", customer, refused, sent, n)
		}
		if s.request(t, customer, path) == http.StatusTooManyRequests {
			refused++
		}
	}
}
