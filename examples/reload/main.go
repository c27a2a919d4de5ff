// Reload takes its whole policy from a file, and reads it again on SIGHUP and when it changes. A policy is in force as
// a whole or not at all: a file with faults changes nothing, and all of its faults are logged. Units that were spent
// stay spent.
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
	addr := flag.String("addr", "127.0.0.1:8080", "address to listen on")
	file := flag.String("policy", "examples/reload/policy.json", "file of the policy")
	every := flag.Duration("every", time.Second, "how often to look whether the file has changed")
	flag.Parse()
	if err := run(*addr, *file, *every); err != nil {
		log.Fatal(err)
	}
}

const usage = `The policy is that of %[2]s. Try it, and change it:

	curl -si http://%[1]s/search
	curl -si http://%[1]s/search -H 'X-API-Key: initech-key'
	kill -HUP %[3]d

`

func run(addr, file string, every time.Duration) error {
	limits, err := newReloader(file)
	if err != nil {
		return err // a service starts with the right limits or not at all
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	go limits.run(ctx, hangUps(ctx), ticker.C)

	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	handler := limits.middleware.Handler(http.HandlerFunc(serve))
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	fmt.Printf(usage, listener.Addr(), file, os.Getpid())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// serve greets, and refuses every password.
func serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/login" {
		http.Error(w, "wrong password", http.StatusUnauthorized)
		return
	}
	fmt.Fprintln(w, "hello from", r.URL.Path)
}

// hangUps returns the SIGHUPs that the process gets until ctx ends.
func hangUps(ctx context.Context) <-chan os.Signal {
	c := make(chan os.Signal, 1) // a second one while a file is read is kept, a third says nothing new
	signal.Notify(c, syscall.SIGHUP)
	context.AfterFunc(ctx, func() { signal.Stop(c) })
	return c
}
