package main

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
)

// options are what the flags say.
type options struct {
	redis, proxies, perAddress string
	timeout                    time.Duration
	maxKeys                    int
	traces                     bool
}

// handlers returns the service, and the page for Prometheus.
func handlers(o options, logger *slog.Logger) (service, page http.Handler, err error) {
	trusted, err := networks(o.proxies)
	if err != nil {
		return nil, nil, err
	}
	client := httplimit.ClientIP(trusted...)
	seen, err := newObservers(client, logger)
	if err != nil {
		return nil, nil, err
	}
	addresses, err := addressRules(o, client, seen.all, logger)
	if err != nil {
		return nil, nil, err
	}
	accounts, err := accountRules(o, client, seen.all, logger)
	if err != nil {
		return nil, nil, err
	}
	seen.watch(addresses, accounts)

	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Pattern+"\n") }
	mux.HandleFunc("GET /", answer)
	mux.HandleFunc("GET /export/", answer)
	traced, err := newTracing(o.traces)
	if err != nil {
		return nil, nil, err
	}
	// A service of yours checks the keys between the two, so that no invented one is counted.
	return traced(addresses.Handler(accounts.Handler(mux))), seen.page(), nil
}

// addressRules are checked first, and cost no call: floods end here.
func addressRules(
	o options, client httplimit.Key, seen httplimit.Observer, l *slog.Logger,
) (*httplimit.Middleware, error) {
	limit, err := limiter.ParseLimit(o.perAddress)
	if err != nil {
		return nil, fmt.Errorf("-per-address: %w", err)
	}
	store, err := memstore.New(memstore.Config{Name: "addresses", MaxKeys: o.maxKeys})
	if err != nil {
		return nil, fmt.Errorf("-max-keys: %w", err)
	}
	return httplimit.New(httplimit.Config{
		Namespace: "edge", Store: store, Observer: seen, Logger: l,
		Rules: []httplimit.Rule{{Name: "address", Key: client, Limit: limit}},
	})
}

// accountRules hold for all instances of the service together, if there is a Redis.
func accountRules(
	o options, client httplimit.Key, seen httplimit.Observer, l *slog.Logger,
) (*httplimit.Middleware, error) {
	store, err := accountStore(o, l)
	if err != nil {
		return nil, err
	}
	account := httplimit.APIKey("X-API-Key")
	exports := func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/export/") }
	return httplimit.New(httplimit.Config{
		Namespace: "shop", Store: store, Observer: seen, Logger: l,
		Rules: []httplimit.Rule{
			{Name: "account", Key: account, NoKey: client, Limit: limiter.PerMinute(60)},
			{Name: "tighter", Key: account, NoKey: client, Limit: limiter.PerMinute(30), Shadow: true}, // is it enough?
			{
				Name: "export", Key: account, NoKey: client, Limit: limiter.PerHour(1000), When: exports,
				Cost:    func(*http.Request) (int64, error) { return 10, nil },
				Failure: httplimit.FailClosed, // an export is too dear to be made uncounted
			},
		},
	})
}

func networks(list string) (all []netip.Prefix, err error) {
	if list == "" {
		return nil, nil
	}
	for one := range strings.SplitSeq(list, ",") {
		network, err := netip.ParsePrefix(one)
		if err != nil {
			return nil, fmt.Errorf("-proxies: %w", err)
		}
		all = append(all, network)
	}
	return all, nil
}
