package main

import (
	"context"
	"net/http"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/benchmarks/rulesets"
	"github.com/httplimit/httplimit/limiter/redisstore"
)

// rulesSubjects compare sets of rules of one client: ours in the middleware, a request each, so that a set is what it
// is in a service. Rivals decide on one rule, so theirs take one call for each.
func rulesSubjects() []subject {
	subjects := []subject{{name: "none", open: bare, runs: always, kind: floor, rules: "none"}}
	for _, set := range rulesets.All() {
		ours := subject{name: "httplimit", open: serving(set.Rules), runs: always, rules: set.Name}
		if set.Name == "shadow" || set.Name == "count-status" {
			ours.kind = counts // what these requests spend is in shadow, or given back
		}
		subjects = append(subjects, ours)
		if len(set.Windows) < 2 { // one rule has a table of its own
			continue
		}
		subjects = append(subjects,
			subject{name: "redis_rate", open: redisRateEach(set.Windows), runs: always, rules: set.Name},
			subject{name: "rueidislimiter", open: rueidisLimiterEach(set.Windows), runs: always, rules: set.Name})
	}
	return subjects
}

// serving is middleware with such rules over redisstore.
func serving(
	rules func(limit int64, window time.Duration) []httplimit.Rule,
) func(string, int64, time.Duration) (*opened, error) {
	return func(addr string, limit int64, window time.Duration) (*opened, error) {
		client := newClient(addr)
		store, err := newStore(client, redisstore.Config{})
		if err != nil {
			return nil, err
		}
		handler, err := rulesets.Handler(store, rules(limit, window))
		if err != nil {
			return nil, err
		}
		return requesting(handler, closeClient(client)), nil
	}
}

func bare(string, int64, time.Duration) (*opened, error) {
	return requesting(rulesets.Bare, func() {}), nil
}

func requesting(h http.Handler, close func()) *opened {
	return &opened{
		session: func() take {
			request := rulesets.Requesting(h)
			return func(_ context.Context, key string) (bool, error) { return request(key) }
		},
		close: close,
	}
}
