// Observed is a service that operators can see into: metrics for Prometheus, attributes on OpenTelemetry's spans, and a
// log that names who was refused, of limits by address, counted in memory, and by account, counted in Redis or, without
// -redis, in memory too. It is a module of its own, as the root requires none of these libraries:
//
//	cd examples/observed
//	go run . -traces
//	for i in $(seq 70); do curl -s -o /dev/null -w '%{http_code} ' -H 'X-API-Key: ann' 127.0.0.1:8080/; done
//	curl -s 127.0.0.1:9100/metrics | grep httplimit_
//
// The dashboard and the alerts that go with it are those of metrics/grafana.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "address of the service")
	scraped := flag.String("metrics", "127.0.0.1:9100", "address of the page for Prometheus, which is nobody else's")
	var o options
	flag.StringVar(&o.redis, "redis", "", "address of the Redis that counts accounts; \"\": they are counted in memory")
	flag.DurationVar(&o.timeout, "timeout", 0, "how long Redis may take for a decision; 0: 50ms")
	flag.StringVar(&o.proxies, "proxies", "", "networks of trusted proxies, such as 10.0.0.0/8,fd00::/8")
	flag.StringVar(&o.perAddress, "per-address", "300/m", "limit of each address")
	flag.IntVar(&o.maxKeys, "max-keys", 0, "how many counters of addresses are kept at most; 0: about a million")
	flag.BoolVar(&o.traces, "traces", false, "print the span of each request to standard output")
	flag.Parse()
	logger := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	if err := run(*addr, *scraped, o, logger); err != nil {
		logger.Error("observed: " + err.Error())
		os.Exit(1)
	}
}

func run(addr, scraped string, o options, logger *slog.Logger) error {
	service, page, err := handlers(o, logger)
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
		return errors.Join(err, listener.Close())
	}
	fmt.Printf("60 requests a minute and account. Try it:\n\n"+
		"\tfor i in $(seq 70); do curl -s -o /dev/null -w '%%{http_code} ' -H 'X-API-Key: ann' http://%s/; done\n"+
		"\tcurl -s http://%s/metrics | grep httplimit_\n\n", listener.Addr(), private.Addr())
	ended := make(chan error, 2)
	serve := func(l net.Listener, h http.Handler) {
		server := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
		context.AfterFunc(ctx, func() { _ = server.Close() })
		go func() { ended <- server.Serve(l) }()
	}
	serve(listener, service)
	serve(private, page)
	err = <-ended
	stop() // the other one ends too
	<-ended
	if !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
