// Example is a service with three kinds of rules and a page that Prometheus scrapes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
	promlimit "github.com/httplimit/httplimit/metrics/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "address of the service")
	scraped := flag.String("metrics", "127.0.0.1:9100", "address of the page for Prometheus, which is nobody else's")
	flag.Parse()
	if err := run(*addr, *scraped); err != nil {
		log.Fatal(err)
	}
}

func run(addr, scraped string) error {
	service, page, err := handlers()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	private, err := net.Listen("tcp", scraped)
	if err != nil {
		return err
	}
	fmt.Printf("5 requests per 10 s and client. Try it:\n\n"+
		"\tfor i in 1 2 3 4 5 6 7; do curl -s http://%s/; done\n"+
		"\tcurl -s http://%s/metrics | grep httplimit\n\n", listener.Addr(), private.Addr())
	ended := make(chan error, 2)
	for _, one := range []struct {
		listener net.Listener
		handler  http.Handler
	}{{listener, service}, {private, page}} {
		server := &http.Server{Handler: one.handler, ReadHeaderTimeout: 5 * time.Second}
		context.AfterFunc(ctx, func() { _ = server.Close() })
		go func() { ended <- server.Serve(one.listener) }()
	}
	err = <-ended
	stop() // the other one ends too
	<-ended
	if !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// handlers returns the service, and the page for Prometheus.
func handlers() (service, page http.Handler, err error) {
	registry := prometheus.NewRegistry()
	observer, err := promlimit.New(promlimit.Config{Registerer: registry})
	if err != nil {
		return nil, nil, err
	}
	store, err := memstore.New(memstore.Config{Name: "visits"}) // the label store
	if err != nil {
		return nil, nil, err
	}
	limit, err := httplimit.New(httplimit.Config{
		Store: store, Observer: observer,
		Rules: []httplimit.Rule{
			{Name: "client", Key: httplimit.ClientIP(), Limit: limiter.Per(5, 10*time.Second)},
			{Name: "stricter", Key: httplimit.ClientIP(), Limit: limiter.Per(2, 10*time.Second), Shadow: true},
			{Name: "everybody", Key: httplimit.Everyone(), Limit: limiter.PerMinute(1000), Private: true},
		},
	})
	if err != nil {
		return nil, nil, err
	}
	observer.Watch(limit)
	hello := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello\n") }
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return limit.Handler(http.HandlerFunc(hello)), mux, nil
}
