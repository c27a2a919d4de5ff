package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/redisstore"
)

// ruleSet is what a service could ask of each request.
type ruleSet struct {
	name string
	// rules have no Key yet. They all have the same limit, so that the shortest window refuses first.
	rules func(limit int64, window time.Duration) []httplimit.Rule
	// windows are those of plain limits, in multiples of the shortest; nil: rivals have no such rules.
	windows []time.Duration
}

func ruleSets() []ruleSet {
	return []ruleSet{
		plain("one", 1),
		plain("two", 1, 60),
		plain("four", 1, 10, 60, 24*60),
		{"second+day", secondAndDay, nil},
		{"shadow", single(func(r *httplimit.Rule) { r.Shadow = true }), nil},
		{"one+shadow", oneAndShadow, nil},
		{"ban", single(func(r *httplimit.Rule) {
			r.Ban = httplimit.Ban{After: 20, Within: 10 * time.Minute, For: time.Hour}
		}), nil},
		{"count-status", single(func(r *httplimit.Rule) { r.CountStatus = isFailure }), nil},
		algorithm(limiter.FixedWindow),
		algorithm(limiter.StrictWindow),
		algorithm(limiter.TokenBucket),
		algorithm(limiter.SlidingLog),
	}
}

// isFailure makes none of the requests here count: each is charged and given back.
func isFailure(status int) bool { return status >= http.StatusBadRequest }

// plain has sliding windows, multiples of the load's.
func plain(name string, multiples ...time.Duration) ruleSet {
	return ruleSet{name, func(limit int64, window time.Duration) []httplimit.Rule {
		var rules []httplimit.Rule
		for _, times := range multiples {
			rules = append(rules, httplimit.Rule{Limit: limiter.Per(limit, times*window)})
		}
		return rules
	}, multiples}
}

// secondAndDay are the windows of the README's first example, where the load's is a minute.
func secondAndDay(limit int64, window time.Duration) []httplimit.Rule {
	return []httplimit.Rule{{Limit: limiter.Per(limit, window/60)}, {Limit: limiter.Per(limit, 24*60*window)}}
}

func oneAndShadow(limit int64, window time.Duration) []httplimit.Rule {
	return []httplimit.Rule{
		{Limit: limiter.Per(limit, window)},
		{Limit: limiter.Per(limit, 60*window), Shadow: true},
	}
}

// single has one rule with something more to it.
func single(change func(*httplimit.Rule)) func(int64, time.Duration) []httplimit.Rule {
	return func(limit int64, window time.Duration) []httplimit.Rule {
		r := httplimit.Rule{Limit: limiter.Per(limit, window)}
		change(&r)
		return []httplimit.Rule{r}
	}
}

func algorithm(a limiter.Algorithm) ruleSet {
	return ruleSet{a.String(), single(func(r *httplimit.Rule) {
		r.Limit.Algorithm = a
		if a == limiter.SlidingLog {
			r.Limit.Requests = min(r.Limit.Requests, 100_000) // the most that a log may have
		}
	}), nil}
}

// rulesSubjects compare sets of rules of one client: ours in the middleware, a request each, so that a set is what it is
// in a service. Rivals decide on one rule, so theirs take one call for each.
func rulesSubjects() []subject {
	subjects := []subject{{name: "none", open: bare, runs: always, kind: floor, rules: "none"}}
	for _, set := range ruleSets() {
		ours := subject{name: "httplimit", open: serving(set.rules), runs: always, rules: set.name}
		if set.name == "shadow" || set.name == "count-status" {
			ours.kind = floor // it refuses nobody here
		}
		subjects = append(subjects, ours)
		if len(set.windows) < 2 { // one rule has a table of its own
			continue
		}
		subjects = append(subjects,
			subject{name: "redis_rate", open: redisRateEach(set.windows), runs: always, rules: set.name},
			subject{name: "rueidislimiter", open: rueidisLimiterEach(set.windows), runs: always, rules: set.name})
	}
	return subjects
}

var ok = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })

// bare is the handler without any middleware.
func bare(string, int64, time.Duration) (*opened, error) {
	return &opened{session: func() take { return requesting(ok) }, close: func() {}}, nil
}

const clientField = "X-Client"

// serving is middleware with such rules. A store that cannot decide shows as a status that nobody expects.
func serving(
	rules func(limit int64, window time.Duration) []httplimit.Rule,
) func(string, int64, time.Duration) (*opened, error) {
	return func(addr string, limit int64, window time.Duration) (*opened, error) {
		client := newClient(addr)
		store, err := newStore(client, redisstore.Config{})
		if err != nil {
			return nil, err
		}
		cfg := httplimit.Config{Store: store, Rules: rules(limit, window), Logger: slog.New(slog.DiscardHandler)}
		for i := range cfg.Rules {
			r := &cfg.Rules[i]
			r.Name, r.Key, r.Failure = fmt.Sprint("rule", i), httplimit.Header(clientField), httplimit.FailClosed
		}
		m, err := httplimit.New(cfg)
		if err != nil {
			return nil, err
		}
		handler := m.Handler(ok)
		return &opened{session: func() take { return requesting(handler) }, close: closeClient(client)}, nil
	}
}

// requesting sends one request after the other.
func requesting(h http.Handler) take {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	name := []string{""}
	r.Header[clientField] = name
	w := &answer{header: make(http.Header)}
	return func(_ context.Context, key string) (bool, error) {
		name[0] = key
		clear(w.header)
		h.ServeHTTP(w, r)
		switch w.status {
		case http.StatusOK:
			return true, nil
		case http.StatusTooManyRequests:
			return false, nil
		}
		return false, fmt.Errorf("the status is %d, want 200 or 429", w.status)
	}
}

// answer is a ResponseWriter that keeps the status only.
type answer struct {
	header http.Header
	status int
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) Write(b []byte) (int, error) { return len(b), nil }
func (a *answer) WriteHeader(status int)      { a.status = status }
