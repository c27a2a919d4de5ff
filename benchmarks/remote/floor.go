package main

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// What follows limits nobody. It shows how much of a figure is the server, the client library and the machine.

// incrTime is the least that one caller can ask: to count, and what time it is there. Nothing runs in a script, and
// no key expires.
func incrTime(addr string, _ int64, _ time.Duration) (*opened, error) {
	client := newClient(addr)
	return shared(func(ctx context.Context, key string) (bool, error) {
		pipe := client.Pipeline()
		pipe.Time(ctx)
		count := pipe.IncrBy(ctx, key, 1)
		_, err := pipe.Exec(ctx)
		return count.Val() > 0, err
	}, closeClient(client)), nil
}

// groupedIncrTime is the least that callers who share flights can cost: one TIME and an INCRBY for each of them in one
// pipeline. Nobody is ever refused or leaves, there is no deadline and no second flight.
func groupedIncrTime(addr string, _ int64, _ time.Duration) (*opened, error) {
	client := newClient(addr)
	g := &group{client: client}
	return &opened{session: g.session, close: closeClient(client)}, nil
}

type group struct {
	client *redis.Client

	mu      sync.Mutex
	busy    bool
	waiting []*member
}

type member struct {
	key   string
	leads chan bool // true: a flight to lead; false: the answer is there
	count int64
	err   error
}

func (g *group) session() take {
	r := &member{leads: make(chan bool, 1)}
	return func(ctx context.Context, key string) (bool, error) {
		r.key = key
		g.mu.Lock()
		flight := []*member{r}
		if g.busy {
			g.waiting = append(g.waiting, r)
			g.mu.Unlock()
			if !<-r.leads {
				return r.count > 0, r.err
			}
			g.mu.Lock()
			flight, g.waiting = g.waiting, nil
		}
		g.busy = true
		g.mu.Unlock()
		g.lead(ctx, flight)
		return r.count > 0, r.err
	}
}

func (g *group) lead(ctx context.Context, flight []*member) {
	pipe := g.client.Pipeline()
	pipe.Time(ctx)
	counts := make([]*redis.IntCmd, len(flight))
	for i, r := range flight {
		counts[i] = pipe.IncrBy(ctx, r.key, 1)
	}
	_, err := pipe.Exec(ctx)
	g.mu.Lock()
	if g.busy = len(g.waiting) > 0; g.busy {
		g.waiting[0].leads <- true
	}
	g.mu.Unlock()
	for i, r := range flight {
		r.count, r.err = counts[i].Val(), err
		if i > 0 {
			r.leads <- false
		}
	}
}
