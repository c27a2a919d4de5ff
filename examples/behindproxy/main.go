// Behindproxy serves a greeting behind a reverse proxy, five times in ten seconds to each client, and shows that what a
// client writes into X-Forwarded-For changes nothing.
//
// The service with its limit is in service.go, the proxy, which stands for nginx or a load balancer, in proxy.go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "address of the proxy")
	backend := flag.String("backend", "127.0.0.1:8081", "address of the service, which only the proxy should reach")
	flag.Parse()
	if err := run(*addr, *backend); err != nil {
		log.Fatal(err)
	}
}

const usage = `5 requests per 10 s and client on http://%[1]s, the service itself is on http://%[2]s.
Pretend to be somebody else with each request; the sixth is refused all the same:

	for i in 1 2 3 4 5 6; do curl -si -H "X-Forwarded-For: 203.0.113.$i" http://%[1]s/; done

`

func run(addr, backend string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	service, err := newService()
	if err != nil {
		return err
	}
	inside, err := net.Listen("tcp", backend)
	if err != nil {
		return err
	}
	outside, err := net.Listen("tcp", addr)
	if err != nil {
		return errors.Join(err, inside.Close())
	}
	fmt.Printf(usage, outside.Addr(), inside.Addr())
	ended := make(chan error, 2)
	go func() { ended <- serve(ctx, inside, service) }()
	go func() { ended <- serve(ctx, outside, newProxy(inside.Addr().String())) }()
	err = <-ended
	stop() // one without the other is of no use
	return errors.Join(err, <-ended)
}

// serve answers until ctx ends.
func serve(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
