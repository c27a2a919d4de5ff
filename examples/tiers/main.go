// Tiers gives each plan a limit of its own: free 60 requests a minute, pro 600, unlimited none. A page tells tenants
// what they have left.
package main

import (
	"context"
	"encoding/json"
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

const usage = `60 requests a minute on plan free, 600 on pro, as many as you like on unlimited. Try it:

	curl -si -H 'Authorization: Bearer acme-key' http://%[1]s/
	curl -si -H 'Authorization: Bearer acme-key' -X PUT http://%[1]s/plan/pro
	curl -si -H 'Authorization: Bearer acme-key' http://%[1]s/
	curl -si -H 'Authorization: Bearer acme-key' http://%[1]s/me/quota

`

func run(addr string) error {
	handler, err := newHandler(newTenants(map[string]tenant{
		"acme-key": {"acme", free}, "globex-key": {"globex", pro}, "initech-key": {"initech", unlimited},
	}))
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
	fmt.Printf(usage, listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func newHandler(t *tenants) (http.Handler, error) {
	plans, err := httplimit.New(httplimit.Config{Rules: []httplimit.Rule{
		{Name: "plan", Key: httplimit.ContextValue(tenantKey{}), Limit: perMinute(60), LimitFunc: limitOf,
			Plans: []limiter.Limit{perMinute(600)}},
	}})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })
	mux.HandleFunc("PUT /plan/{plan}", t.change)
	pages := http.NewServeMux()
	pages.Handle("/", plans.Handler(mux))
	pages.HandleFunc("GET /me/quota", quota(plans)) // beside the limiter: to look costs a tenant nothing
	// By address before authentication: a client that guesses at keys is no tenant yet.
	addresses := httplimit.PerIP(1000, time.Minute)
	return addresses(t.authenticate(pages)), nil
}

// quota tells tenants what they have left, by their own plan. Durations are milliseconds.
func quota(plans *httplimit.Middleware) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		verdicts, err := plans.PeekRequest(r)
		if err != nil {
			log.Print(err)
			http.Error(w, "not known right now", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		_ = json.NewEncoder(w).Encode(verdicts) // a client that has left is no fault of ours
	}
}

// limitOf chooses the limit by the plan. Plans share a counter, since they have the algorithm and the window in common:
// after a change of the plan what was spent is still spent.
func limitOf(r *http.Request) (limiter.Limit, error) {
	t, _ := r.Context().Value(tenantKey{}).(tenant)
	switch t.plan {
	case free:
		return perMinute(60), nil
	case pro:
		return perMinute(600), nil
	case unlimited:
		return limiter.Limit{}, httplimit.ErrSkip
	}
	// The rule's own Limit holds, and one line in the log says so.
	return limiter.Limit{}, fmt.Errorf("tiers: %q is no plan", t.plan)
}

// perMinute is a bucket of n requests that is refilled evenly: a tenant who has emptied it goes on at n/60 a second.
func perMinute(n int64) limiter.Limit {
	return limiter.Limit{Requests: n, Window: time.Minute, Algorithm: limiter.TokenBucket}
}
