package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/benchmarks/rulesets"
	"github.com/httplimit/httplimit/benchmarks/servers"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/redisstore"
	"github.com/redis/go-redis/v9"
)

// exchange is what a request of a lone caller may cost in Redis.
type exchange struct {
	name     string
	trips    int // of the caller to the server
	commands int // that the server runs, those inside scripts too
	rules    func(limit int64, window time.Duration) []httplimit.Rule
	limit    int64 // 1: the request is refused
	config   redisstore.Config
}

func exchanges() []exchange {
	set := func(name string) func(int64, time.Duration) []httplimit.Rule {
		for _, s := range rulesets.All() {
			if s.Name == name {
				return s.Rules
			}
		}
		return nil
	}
	uncached := redisstore.Config{DenyCache: -1}
	return []exchange{
		{"redis: one rule", 1, 4, set("one"), plenty, redisstore.Config{}},
		{"redis: two rules", 1, 6, set("two"), plenty, redisstore.Config{}},
		{"redis: four rules", 1, 10, set("four"), plenty, redisstore.Config{}},
		{"redis: one rule with Shadow", 1, 4, set("shadow"), plenty, redisstore.Config{}},
		{"redis: one rule, and one with Shadow", 1, 6, set("one+shadow"), plenty, redisstore.Config{}},
		{"redis: one rule with a Ban", 1, 5, set("ban"), plenty, redisstore.Config{}},
		{"redis: one rule with CountStatus, given back", 2, 8, set("count-status"), plenty, redisstore.Config{}},
		{"redis: one rule, StrictWindow", 1, 4, set(limiter.StrictWindow.String()), plenty, redisstore.Config{}},
		{"redis: one rule, refused from memory", 0, 0, set("one"), 1, redisstore.Config{}},
		{"redis: two rules, refused from memory", 0, 0, set("two"), 1, redisstore.Config{}},
		{"redis: one rule, refused by the server", 1, 3, set("one"), 1, uncached},
		{"redis: two rules, refused by the server", 1, 4, set("two"), 1, uncached},
	}
}

// checkCommands counts trips and commands of one caller after the other, which do not depend on how busy the machine
// is.
func checkCommands() error {
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("HTTPLIMIT_SERVERS") == "required" {
			return fmt.Errorf("HTTPLIMIT_SERVERS is required: %w", err)
		}
		fmt.Println("redis: nothing was counted, as there is no redis-server on this machine")
		return nil
	}
	server, err := servers.Redis()
	if err != nil {
		return err
	}
	defer server.Stop()
	var faults []error
	for i, e := range exchanges() {
		e.config.Prefix = fmt.Sprintf("guard%d:", i)
		trips, commands, err := e.count(server)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", e.name, err))
			continue
		}
		fmt.Printf("%-56s %3d trips, %d commands\n", e.name, trips, commands)
		faults = append(faults, e.judge(trips, commands))
	}
	return errors.Join(faults...)
}

// count returns what one request costs. Where it is more than it should be it counts again: a window may have begun
// meanwhile.
func (e exchange) count(server *servers.Server) (trips, commands int, err error) {
	client := redis.NewClient(&redis.Options{Addr: server.Addr, ContextTimeoutEnabled: true})
	defer func() { _ = client.Close() }()
	counter := new(tripCounter)
	client.AddHook(counter)
	e.config.Timeout = time.Minute // a busy machine may take long
	store, err := redisstore.New(client, e.config)
	if err != nil {
		return 0, 0, err
	}
	handler, err := rulesets.Handler(store, e.rules(e.limit, 6*time.Hour)) // a day's rule is of 360 days then
	if err != nil {
		return 0, 0, err
	}
	request := rulesets.Requesting(handler)
	const attempts, requests = 3, 50
	for attempt := range attempts {
		client := fmt.Sprint("client", attempt)
		for range 3 { // it is known then, the server has the script, and the deny cache a refusal
			if _, err := request(client); err != nil {
				return 0, 0, err
			}
		}
		before, err := callsOf(server)
		if err != nil {
			return 0, 0, err
		}
		counter.trips.Store(0)
		for range requests {
			if allowed, err := request(client); err != nil || allowed != (e.limit > 1) {
				return 0, 0, fmt.Errorf("allowed is %v (%w), want %v", allowed, err, e.limit > 1)
			}
		}
		after, err := callsOf(server)
		if err != nil {
			return 0, 0, err
		}
		// Rounded up, so that one too many shows.
		trips, commands = ceil(int(counter.trips.Load()), requests), ceil(after-before, requests)
		if e.judge(trips, commands) == nil {
			break
		}
	}
	return trips, commands, nil
}

func ceil(n, of int) int { return (n + of - 1) / of }

func (e exchange) judge(trips, commands int) error {
	if trips > e.trips || commands > e.commands {
		return fmt.Errorf("%s: it takes %d trips and %d commands, want at most %d and %d",
			e.name, trips, commands, e.trips, e.commands)
	}
	if trips < e.trips || commands < e.commands {
		fmt.Printf("%-56s     lower its figures in guard/commands.go to %d and %d, to keep what was gained\n",
			"", trips, commands)
	}
	return nil
}

// callsOf is how many commands a server has run for limits, and not for the connection or for us.
func callsOf(server *servers.Server) (calls int, err error) {
	stats, err := server.Info()
	if err != nil {
		return 0, err
	}
	for name, text := range stats {
		command, isCommand := strings.CutPrefix(name, "cmdstat_")
		switch command {
		case "info", "hello", "ping", "script|load", "client|setinfo", "client|maint_notifications":
			continue
		}
		first, _, _ := strings.Cut(text, ",")
		count, hasCalls := strings.CutPrefix(first, "calls=")
		if !isCommand || !hasCalls {
			continue
		}
		n, err := strconv.Atoi(count)
		if err != nil {
			return 0, fmt.Errorf("%s is %q, want calls=N first: %w", name, text, err)
		}
		calls += n
	}
	return calls, nil
}

// tripCounter is a hook that counts calls. The store looks after its connections at the same time.
type tripCounter struct{ trips atomic.Int64 }

func (t *tripCounter) DialHook(next redis.DialHook) redis.DialHook { return next }

func (t *tripCounter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() != "ping" {
			t.trips.Add(1)
		}
		return next(ctx, cmd)
	}
}

func (t *tripCounter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		t.trips.Add(1)
		return next(ctx, cmds)
	}
}
