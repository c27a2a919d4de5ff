// Package shop is a service with limits of every kind, for the example of the operators' page.
package shop

import (
	"fmt"
	"net/http"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/console"
	"github.com/httplimit/httplimit/limiter"
)

// Shop serves the shop, and the operators' page under /ops/limits/.
type Shop struct {
	Console *console.Console
	mux     *http.ServeMux
	limited http.Handler
}

// New makes a shop that counts in store; nil means in memory.
func New(store limiter.Store) (*Shop, error) {
	// Whoever sits at this machine may look, and is taken for its owner. In a service, ask its authentication for both.
	page, err := console.New(console.Config{
		Viewer:   console.LocalOnly,
		Operator: func(*http.Request) (name string, ok bool) { return "owner of the machine", true },
	})
	if err != nil {
		return nil, err
	}
	limits, err := httplimit.New(httplimit.Config{
		Namespace: "shop", Store: store, Rules: rules(), Instances: 3, Observer: page,
	})
	if err != nil {
		return nil, err
	}
	page.Watch(limits)
	s := &Shop{Console: page, mux: http.NewServeMux(), limited: limits.Handler(http.HandlerFunc(serve))}
	s.mux.Handle("/ops/limits/", page) // in front of the limits: it has its own, and operators come when clients flood
	s.mux.Handle("/", s.limited)
	return s, nil
}

func (s *Shop) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

func rules() []httplimit.Rule {
	at := func(path string) func(*http.Request) bool {
		return func(r *http.Request) bool { return r.URL.Path == path }
	}
	customer := httplimit.APIKey("X-Api-Key")
	return []httplimit.Rule{
		{Name: "address", Key: httplimit.ClientIP(), Limit: limiter.PerMinute(120)},
		{
			Name: "login", Key: httplimit.Compose(httplimit.ClientIP(), httplimit.BasicUser()), When: at("/login"),
			Limit: limiter.Per(5, 15*time.Minute), Private: true, Failure: httplimit.FailClosed,
			CountStatus: func(status int) bool { return status == http.StatusUnauthorized },
			Ban:         httplimit.Ban{After: 20, Within: 10 * time.Minute, For: time.Hour},
		},
		{
			Name: "api", Key: customer, NoKey: httplimit.ClientIP(), When: at("/api/orders"), Failure: httplimit.FailOpen,
			Limit: limiter.Limit{Algorithm: limiter.TokenBucket, Requests: 10, Window: time.Second, Burst: 20},
			Plans: []limiter.Limit{limiter.PerSecond(50)},
		},
		{Name: "search", Key: httplimit.ClientIP(), When: at("/search"), Limit: limiter.PerMinute(20), Shadow: true},
		{
			Name: "checkout", Key: httplimit.ClientIP(), When: at("/checkout"), Percent: 50,
			Limit: limiter.Limit{Algorithm: limiter.StrictWindow, Requests: 6, Window: time.Minute},
		},
		{
			Name: "export", Key: customer, NoKey: httplimit.ClientIP(), When: at("/export"), InFlight: true,
			Limit: limiter.Per(2, 5*time.Minute),
		},
	}
}

// serve stands for the shop itself: it knows no password, and exports take a while.
func serve(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/login":
		w.WriteHeader(http.StatusUnauthorized)
	case "/export":
		select {
		case <-time.After(2 * time.Second):
		case <-r.Context().Done():
		}
	}
	fmt.Fprintln(w, "hello from the shop")
}
