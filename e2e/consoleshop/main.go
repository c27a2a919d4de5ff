// Consoleshop is examples/console over Redis: the operators' page of a shop that makes its own traffic. The example
// itself is in the root module, which knows no database client.
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

	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit/examples/console/shop"
	"github.com/httplimit/httplimit/limiter/redisstore"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "address to listen on")
	server := flag.String("redis", "127.0.0.1:6379", "address of Redis")
	flag.Parse()
	if err := run(*addr, *server); err != nil {
		log.Fatal(err)
	}
}

func run(addr, redisAddr string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	client := redis.NewClient(&redis.Options{Addr: redisAddr, ContextTimeoutEnabled: true})
	defer func() { _ = client.Close() }()
	store, err := redisstore.New(client, redisstore.Config{Name: "counters"})
	if err != nil {
		return err
	}
	s, err := shop.New(store)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: s, ReadHeaderTimeout: 5 * time.Second}
	server.RegisterOnShutdown(s.Console.Close)
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
