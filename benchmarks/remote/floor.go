package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/redisstore"
	"github.com/redis/go-redis/v9"
)

// What follows limits nobody in earnest. It shows how much of a figure is the server, the client library and the
// machine.

// ownScript is redisstore without its Go: the call that it makes for a lone caller, sent as it is by the client.
func ownScript(addr string, limit int64, window time.Duration) (*opened, error) {
	const sample = "198.51.100.255"
	client := newClient(addr)
	call, err := callFor(client, limiter.Charge{Scope: "api/ip", Key: sample, Limit: limiter.Per(limit, window), Cost: 1})
	if err != nil {
		return nil, err
	}
	before, after, _ := strings.Cut(call[keyPlace].(string), sample)
	return shared(func(ctx context.Context, key string) (bool, error) {
		args := append([]any(nil), call...)
		args[keyPlace] = before + key + after
		reply, err := client.Do(ctx, args...).Int64Slice()
		return err == nil && reply[1] > 0 && reply[1]&1 == 1, err
	}, closeClient(client)), nil
}

// keyPlace is where a call of a script has its first key.
const keyPlace = 3

// callFor returns what redisstore sends for a charge once the server knows its script.
func callFor(client *redis.Client, c limiter.Charge) ([]any, error) {
	var latest recorder
	spied := newClient(client.Options().Addr)
	defer func() { _ = spied.Close() }()
	spied.AddHook(&latest)
	store, err := redisstore.New(spied, redisstore.Config{Timeout: patience})
	if err != nil {
		return nil, err
	}
	for range 2 { // the first brings the script
		if _, err := store.Take(context.Background(), []limiter.Charge{c}); err != nil {
			return nil, err
		}
	}
	if len(latest.args) <= keyPlace || latest.args[0] != "evalsha" {
		return nil, fmt.Errorf("redisstore sent %v, want an EVALSHA with a key", latest.args)
	}
	return latest.args, nil
}

// recorder is a hook that keeps the arguments of the latest command.
type recorder struct{ args []any }

func (r *recorder) DialHook(next redis.DialHook) redis.DialHook { return next }

func (r *recorder) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		r.args = cmd.Args()
		return next(ctx, cmd)
	}
}

func (r *recorder) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// groupedIncr is the least that callers who share flights can cost: nobody is ever refused or leaves, there is no
// deadline and no second flight, and the script has one command for each key.
func groupedIncr(addr string, _ int64, window time.Duration) (*opened, error) {
	client := newClient(addr)
	g := &group{client: client, window: window.Milliseconds(), script: redis.NewScript(`local counts = {}
for i = 1, #KEYS do
  counts[i] = redis.call('INCR', KEYS[i])
  if counts[i] == 1 then redis.call('PEXPIRE', KEYS[i], ARGV[1]) end
end
return counts`)}
	return &opened{session: g.session, close: closeClient(client)}, nil
}

type group struct {
	client *redis.Client
	script *redis.Script
	window int64

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
	keys := make([]string, len(flight))
	for i, r := range flight {
		keys[i] = r.key
	}
	counts, err := g.script.Run(ctx, g.client, keys, g.window).Int64Slice()
	if err == nil && len(counts) != len(flight) {
		err = errors.New("the reply of the script is too short")
	}
	g.mu.Lock()
	if g.busy = len(g.waiting) > 0; g.busy {
		g.waiting[0].leads <- true
	}
	g.mu.Unlock()
	for i, r := range flight {
		if r.err = err; err == nil {
			r.count = counts[i]
		}
		if i > 0 {
			r.leads <- false
		}
	}
}
