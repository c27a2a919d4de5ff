// Testing is a service whose sign-ups are limited to 3 an hour for each address. How to test such a service is in
// main_test.go: in an hour that takes no time, refused, and without its store.
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

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "address to listen on")
	flag.Parse()
	if err := run(*addr); err != nil {
		log.Fatal(err)
	}
}

func run(addr string) error {
	handler, err := newHandler(nil)
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
	fmt.Printf("3 sign-ups an hour. Try it, a few times:\n\n\tcurl -si -X POST http://%s/signup\n\n", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// newHandler returns the service. Its store is a parameter for the tests' sake; nil counts in memory.
func newHandler(store limiter.Store) (http.Handler, error) {
	m, err := httplimit.New(httplimit.Config{Store: store, Rules: []httplimit.Rule{{
		Name: "signup", Key: httplimit.ClientIP(), Limit: limiter.PerHour(3), Failure: httplimit.FailClosed,
	}}})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("POST /signup", m.Handler(http.HandlerFunc(signUp)))
	return mux, nil
}

func signUp(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintln(w, "welcome")
}
