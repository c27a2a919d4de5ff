// Reload takes limits from a JSON file, by the names of rules that are written in Go, and reads it again on SIGHUP.
// Units that were spent stay spent; a file with faults changes nothing.
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
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "address to listen on")
	file := flag.String("limits", "examples/reload/limits.json", "file of limits by rule name")
	flag.Parse()
	if err := run(*addr, *file); err != nil {
		log.Fatal(err)
	}
}

const usage = `Limits are read from %[2]s. Change it, and try it:

	curl -si http://%[1]s/search
	kill -HUP %[3]d

`

func run(addr, file string) error {
	cfg, err := config(file)
	if err != nil {
		return err // a service starts with the right limits or not at all
	}
	limit, err := httplimit.New(cfg)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go reloadOn(ctx, hangUps(ctx), limit, file)

	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: limit.Handler(http.HandlerFunc(greet)), ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	fmt.Printf(usage, listener.Addr(), file, os.Getpid())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func greet(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "hello from", r.URL.Path) }

// hangUps returns the SIGHUPs that the process gets until ctx ends.
func hangUps(ctx context.Context) <-chan os.Signal {
	c := make(chan os.Signal, 1) // a second one while a file is read is kept, a third says nothing new
	signal.Notify(c, syscall.SIGHUP)
	context.AfterFunc(ctx, func() { signal.Stop(c) })
	return c
}

// reloadOn reads the file again on each signal.
func reloadOn(ctx context.Context, signals <-chan os.Signal, limit *httplimit.Middleware, file string) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals:
		}
		if err := reload(limit, file); err != nil {
			log.Printf("reload: the old limits stay in force:\n%v", err)
			continue
		}
		log.Print("reload: new limits are in force")
	}
}

func reload(limit *httplimit.Middleware, file string) error {
	cfg, err := config(file)
	if err != nil {
		return err
	}
	return limit.Reconfigure(cfg)
}
