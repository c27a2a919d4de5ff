// Console serves the operators' page of a shop whose traffic it makes itself: ordinary customers, a scraper, somebody
// who guesses passwords, and a customer whose program has gone wild.
//
// The shop and its rules are in shop/shop.go, its traffic in shop/traffic.go.
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

	"github.com/httplimit/httplimit/examples/console/shop"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "address to listen on")
	flag.Parse()
	if err := run(*addr); err != nil {
		log.Fatal(err)
	}
}

func run(addr string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	s, err := shop.New(nil)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: s, ReadHeaderTimeout: 5 * time.Second}
	server.RegisterOnShutdown(s.Console.Close) // else Shutdown would wait for whoever looks at the page

	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	go s.Traffic(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-ctx.Done()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = server.Shutdown(ctx)
	}()
	fmt.Printf("The operators' page: http://%s/ops/limits/\n", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	<-ended // Serve returns when Shutdown begins
	return nil
}
