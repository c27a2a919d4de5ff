package main

import "time"

// judge compares decisions with an exact log: for each client when it was admitted during the last window.
type judge struct {
	limit    int
	window   time.Duration
	admitted map[string][]time.Duration
	figures
}

// figures are how often a limiter decided, and how often otherwise than an exact log of what it has itself admitted.
type figures struct {
	requests, admitted int
	over               int // admitted above the limit
	refused            int // refused below the limit
	most               int // admitted within one window
}

func newJudge(limit int, window time.Duration) *judge {
	return &judge{limit: limit, window: window, admitted: map[string][]time.Duration{}}
}

// within returns how many requests of a client were admitted within the window that ends at that moment.
func (j *judge) within(at time.Duration, client string) int {
	log := j.admitted[client]
	for len(log) > 0 && log[0] <= at-j.window {
		log = log[1:]
	}
	return len(log)
}

// saw notes a decision on a request that came at that moment.
func (j *judge) saw(at time.Duration, client string, allowed bool) {
	log := j.admitted[client]
	within := j.within(at, client)
	j.requests++
	switch {
	case allowed:
		if within >= j.limit {
			j.over++
		}
		j.figures.admitted++
		j.most = max(j.most, within+1)
		j.admitted[client] = append(log[len(log)-within:], at)
	case within < j.limit:
		j.refused++
	}
}
