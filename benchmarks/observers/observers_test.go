package observers_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/redisstore"
	otellimit "github.com/httplimit/httplimit/metrics/otel"
	promlimit "github.com/httplimit/httplimit/metrics/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/sdk/metric"
)

const (
	clients = 1024
	plenty  = 16_000_000 // a limit that no benchmark reaches
)

// observers are what is measured. nothing is an Observer too: it shows what httplimit itself does to tell one.
var observers = []struct {
	name string
	make func() (httplimit.Observer, error)
}{
	{"none", func() (httplimit.Observer, error) { return nil, nil }},
	{"nothing", func() (httplimit.Observer, error) { return nothing{}, nil }},
	{"promlimit", func() (httplimit.Observer, error) {
		return promlimit.New(promlimit.Config{Registerer: prometheus.NewRegistry()})
	}},
	{"otellimit", func() (httplimit.Observer, error) {
		return otellimit.New(otellimit.Config{
			MeterProvider: metric.NewMeterProvider(metric.WithReader(metric.NewManualReader())),
		})
	}},
}

type nothing struct{}

func (nothing) Observe(context.Context, *httplimit.Observation) {}

// BenchmarkObservers serves requests of 1,024 clients by one rule, which allows them. The observers are in the inner
// loop, so that those that are compared are measured within seconds.
func BenchmarkObservers(b *testing.B) {
	b.Run("store=memory", func(b *testing.B) { compare(b, nil, 1) })
	store := redisStore(b)
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprintf("store=redis/callers=%d", callers), func(b *testing.B) { compare(b, store, callers) })
	}
}

func compare(b *testing.B, store limiter.Store, callers int) {
	for _, o := range observers {
		observer, err := o.make()
		if err != nil {
			b.Fatal(err)
		}
		m, err := httplimit.New(httplimit.Config{Store: store, Observer: observer, Rules: []httplimit.Rule{
			{Name: "client", Key: httplimit.ClientIP(), Limit: limiter.PerHour(plenty)},
		}})
		if err != nil {
			b.Fatal(err)
		}
		h := m.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		b.Run("observer="+o.name, func(b *testing.B) {
			serve(b, h, callers)
			if degraded := m.Health(); len(degraded) > 0 {
				b.Fatalf("the store did not decide all of it: %v", degraded[0].Err)
			}
		})
	}
}

// serve sends requests from so many goroutines.
func serve(b *testing.B, h http.Handler, callers int) {
	b.ReportAllocs()
	var wrong, worker atomic.Int64
	requests := requestsOfAll()
	caller := func(next func() bool) {
		w := &answer{header: make(http.Header)}
		for i := 61 * int(worker.Add(1)); next(); i++ { // the callers are never at the same client for long
			clear(w.header)
			w.status = http.StatusOK
			h.ServeHTTP(w, requests[i%len(requests)])
			if w.status != http.StatusOK {
				wrong.Add(1)
			}
		}
	}
	if callers == 1 {
		caller(b.Loop)
	} else {
		b.SetParallelism(callers / runtime.GOMAXPROCS(0))
		b.RunParallel(func(pb *testing.PB) { caller(pb.Next) })
	}
	if n := wrong.Load(); n > 0 {
		b.Fatalf("%d of the requests were not allowed", n)
	}
}

// requestsOfAll returns a request of each client.
func requestsOfAll() []*http.Request {
	requests := make([]*http.Request, clients)
	for i := range requests {
		requests[i] = httptest.NewRequest(http.MethodGet, "/", nil)
		requests[i].RemoteAddr = fmt.Sprintf("192.0.%d.%d:1234", 2+i/256, i%256)
	}
	return requests
}

// answer is a ResponseWriter that keeps nothing but the status.
type answer struct {
	header http.Header
	status int
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) Write(p []byte) (int, error) { return len(p), nil }
func (a *answer) WriteHeader(status int)      { a.status = status }

// redisStore returns a store over a redis-server of its own, which ends with the benchmark.
func redisStore(b *testing.B) limiter.Store {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	address := listener.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	listener.Close()
	server := exec.Command("redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
		"--logfile", os.DevNull)
	if err := server.Start(); err != nil {
		b.Skipf("redis-server does not start: %v", err)
	}
	b.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	client := redis.NewClient(&redis.Options{Addr: address, ContextTimeoutEnabled: true, PoolSize: 64})
	b.Cleanup(func() { _ = client.Close() })
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	for client.Ping(ctx).Err() != nil && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
	}
	store, err := redisstore.New(client, redisstore.Config{Timeout: time.Second})
	if err != nil {
		b.Fatal(err)
	}
	return store
}
