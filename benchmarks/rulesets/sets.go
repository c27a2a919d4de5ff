// Package rulesets has sets of rules as services have them, for what is measured in Redis.
package rulesets

import (
	"net/http"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// Set is what a service could ask of each request.
type Set struct {
	Name string
	// Rules have no Key yet. They all have the same limit, so that the shortest window refuses first.
	Rules func(limit int64, window time.Duration) []httplimit.Rule
	// Windows are those of plain limits, in multiples of the shortest; nil: rivals have no such rules.
	Windows []time.Duration
}

// All returns every set. The first has one rule, with which the others are compared.
func All() []Set {
	return []Set{
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
func plain(name string, multiples ...time.Duration) Set {
	return Set{name, func(limit int64, window time.Duration) []httplimit.Rule {
		var rules []httplimit.Rule
		for _, times := range multiples {
			rules = append(rules, httplimit.Rule{Limit: limiter.Per(limit, times*window)})
		}
		return rules
	}, multiples}
}

// secondAndDay are the windows of the README's first example, where the load's is a minute.
func secondAndDay(limit int64, window time.Duration) []httplimit.Rule {
	second := (window / 60).Truncate(time.Millisecond)
	return []httplimit.Rule{{Limit: limiter.Per(limit, second)}, {Limit: limiter.Per(limit, 24*60*window)}}
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

func algorithm(a limiter.Algorithm) Set {
	return Set{a.String(), single(func(r *httplimit.Rule) {
		r.Limit.Algorithm = a
		if a == limiter.SlidingLog {
			r.Limit.Requests = min(r.Limit.Requests, 100_000) // the most that a log may have
		}
	}), nil}
}
