// Example limits every client of a service to 5 requests in 10 seconds, counted in memcached: start it twice, on two
// ports, and both count together.
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

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memcachestore"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "address to listen on")
	server := flag.String("memcached", "127.0.0.1:11211", "address of memcached")
	flag.Parse()
	if err := run(*addr, *server); err != nil {
		log.Fatal(err)
	}
}

func run(addr, memcached string) error {
	handler, err := newHandler(memcached)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	fmt.Printf("5 requests per 10 s and client. Try it:\n\n"+
		"\tfor i in 1 2 3 4 5 6; do curl -si http://%s/; done\n\n", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func newHandler(memcached string) (http.Handler, error) {
	client := memcache.New(memcached)
	client.MaxIdleConns = 64 // for as many requests at once; with the default of 2 all others dial
	store, err := memcachestore.New(client, memcachestore.Config{Prefix: "example:"})
	if err != nil {
		return nil, err
	}
	m, err := httplimit.New(httplimit.Config{
		Store: store,
		Rules: []httplimit.Rule{{Name: "ip", Key: httplimit.ClientIP(), Limit: limiter.Per(5, 10*time.Second)}},
	})
	if err != nil {
		return nil, err
	}
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })
	return m.Handler(hello), nil
}
