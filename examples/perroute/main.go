// Perroute limits two routes differently: searches by a key of the team's own, everything by address.
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
	handler, err := newHandler()
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
	fmt.Printf("3 searches per 10 s and team, 20 requests per 10 s and client. Try it:\n\n"+
		"\tfor i in 1 2 3 4; do curl -si -H 'X-Team: red' 'http://%s/search?q=go'; done\n"+
		"\tcurl -si http://%[1]s/items/1\n\n", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func newHandler() (http.Handler, error) {
	// One Middleware can be put around as many handlers as there are: its rules count all of them together.
	all, err := httplimit.New(httplimit.Config{Rules: []httplimit.Rule{
		{Name: "client", Key: httplimit.ClientIP(), Limit: limiter.Per(20, 10*time.Second)},
	}})
	if err != nil {
		return nil, err
	}
	searches, err := httplimit.New(httplimit.Config{Rules: []httplimit.Rule{
		{Name: "search", Key: httplimit.KeyFunc(team), Limit: limiter.Per(3, 10*time.Second)},
	}})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /search", searches.Handler(http.HandlerFunc(search)))
	mux.HandleFunc("GET /items/{id}", item)
	return all.Handler(mux), nil
}

// team is a KeyFunc. Clients without a team are counted by their address instead, separately from all teams. In a real
// service the team comes from a verified session: a header that any client can write is no identity.
func team(r *http.Request) (string, error) {
	if team := r.Header.Get("X-Team"); team != "" {
		return team, nil
	}
	return "", httplimit.ErrNoKey
}

func search(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "results for %q\n", r.FormValue("q"))
}

func item(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "item %s\n", r.PathValue("id"))
}
