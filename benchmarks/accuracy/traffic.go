package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// All synthetic traffic is under one limit.
const (
	limit  = 100
	window = time.Minute
)

// request is one request of a client, at a moment after the traffic began.
type request struct {
	at     time.Duration
	client string
}

// scenario is traffic, in the order in which it comes.
type scenario struct {
	name     string
	requests []request
}

// scenarios returns the synthetic traffic, over that many windows. The same every time.
func scenarios(windows int) []scenario {
	span := time.Duration(windows) * window
	random := rand.New(rand.NewPCG(15, 1))
	return []scenario{
		{"steady, 90 % of the limit", steady(span, 0.9)},
		{"steady, at the limit", steady(span, 1)},
		{"Poisson, 90 % of the limit", poisson(random, "client", span, 0.9)},
		{"Poisson, 120 % of the limit", poisson(random, "client", span, 1.2)},
		{"bursts at boundaries", bursts(span)},
		{"one request, and bursts a window later", patient(span)},
		{"cron, once a window", cron(span, 0)},
		{"cron, once a window, 60 % of the limit", cron(span, 0.4)},
		{"one that always asks", steady(span, 20)},
		{"5,000 clients, most of them far below the limit", population(random, windows, 0.02)},
		{"the same under four times the limit", population(random, windows, 0.005)},
		{"2,000 clients who load pages", pages(random, windows)},
	}
}

// steady asks evenly, at that multiple of the limit.
func steady(span time.Duration, rate float64) (all []request) {
	every := time.Duration(float64(window) / (limit * rate))
	for at := time.Duration(0); at < span; at += every {
		all = append(all, request{at.Truncate(time.Millisecond), "client"})
	}
	return all
}

// poisson asks at random moments that do not depend on each other, at that multiple of the limit.
func poisson(random *rand.Rand, client string, span time.Duration, rate float64) (all []request) {
	mean := float64(window) / (limit * rate)
	for at := random.ExpFloat64() * mean; at < float64(span); at += random.ExpFloat64() * mean {
		all = append(all, request{time.Duration(at).Truncate(time.Millisecond), client})
	}
	return all
}

// bursts asks for the whole limit in the last second of every second window, and again in the first of the next.
func bursts(span time.Duration) (all []request) {
	for boundary := window; boundary < span; boundary += 2 * window {
		for i := range 2 * limit {
			at := boundary + time.Duration(i-limit)*10*time.Millisecond
			all = append(all, request{at, "client"})
		}
	}
	return all
}

// patient begins with one request, so that a window of its own begins, and asks for the rest of the limit at its end
// and for all of it again right after.
func patient(span time.Duration) (all []request) {
	for start := time.Duration(0); start < span; start += 4 * window {
		all = append(all, request{start, "client"})
		for i := range 2*limit - 1 {
			at := start + window + time.Duration(i-limit+1)*10*time.Millisecond + 5*time.Millisecond
			all = append(all, request{at, "client"})
		}
	}
	return all
}

// cron is a job that sends all its requests at once, a few seconds into each window; saved is the share of the limit
// that it does not need.
func cron(span time.Duration, saved float64) (all []request) {
	for start := 3 * time.Second; start < span; start += window {
		for range int(math.Round(limit * (1 - saved))) {
			all = append(all, request{start, "client"})
		}
	}
	return all
}

// population is many clients of very different rates, as services see them: half of them below that share of the limit,
// and if it is 2 %, one in 500 above the limit.
func population(random *rand.Rand, windows int, median float64) (all []request) {
	for i := range 5000 {
		rate := min(20, median*math.Exp(1.35*random.NormFloat64()))
		all = append(all, poisson(random, fmt.Sprint("client ", i), time.Duration(windows)*window, rate)...)
	}
	return inOrder(all)
}

// pages is many clients who load pages, of 10 to 60 requests within two seconds, and read them.
func pages(random *rand.Rand, windows int) (all []request) {
	for i := range 2000 {
		client := fmt.Sprint("client ", i)
		pause := float64(window) * math.Exp(0.7*random.NormFloat64())
		for at := random.ExpFloat64() * pause; at < float64(windows)*float64(window); at += random.ExpFloat64() * pause {
			for range 10 + random.IntN(51) {
				later := time.Duration(at) + time.Duration(random.Int64N(int64(2*time.Second)))
				all = append(all, request{later.Truncate(time.Millisecond), client})
			}
		}
	}
	return inOrder(all)
}

func inOrder(all []request) []request {
	slices.SortStableFunc(all, func(a, b request) int { return int(a.at - b.at) })
	return all
}
