package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/benchmarks/rulesets"
	"github.com/httplimit/httplimit/benchmarks/servers"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/redisstore"
	"github.com/redis/go-redis/v9"
)

// exchange is a request of a lone caller that Redis decides, and what it may cost.
type exchange struct {
	name   string
	most   expense
	rules  func(limit int64, window time.Duration) []httplimit.Rule
	limit  int64 // 1: the request is refused
	config redisstore.Config
}

type expense struct {
	trips    int // of the caller to the server
	commands int // that the server runs, those inside scripts too
	allocs   int // of the caller, those of go-redis too
}

func (e expense) String() string {
	return fmt.Sprintf("%d trips, %d commands, %d allocations", e.trips, e.commands, e.allocs)
}

// above reports whether e is dearer than most in anything.
func (e expense) above(most expense) bool {
	return e.trips > most.trips || e.commands > most.commands || e.allocs > most.allocs
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
		{"redis: one rule", expense{1, 4, 21}, set("one"), plenty, redisstore.Config{}},
		{"redis: two rules", expense{1, 6, 27}, set("two"), plenty, redisstore.Config{}},
		{"redis: four rules", expense{1, 10, 37}, set("four"), plenty, redisstore.Config{}},
		{"redis: one rule with Shadow", expense{1, 4, 21}, set("shadow"), plenty, redisstore.Config{}},
		{"redis: one rule, and one with Shadow", expense{1, 6, 27}, set("one+shadow"), plenty, redisstore.Config{}},
		{"redis: one rule with a Ban", expense{1, 5, 25}, set("ban"), plenty, redisstore.Config{}},
		{"redis: one rule with CountStatus, given back", expense{2, 8, 48}, set("count-status"), plenty, redisstore.Config{}},
		{"redis: one rule, StrictWindow", expense{1, 4, 19}, set(limiter.StrictWindow.String()), plenty, redisstore.Config{}},
		{"redis: one rule, refused from memory", expense{0, 0, 0}, set("one"), 1, redisstore.Config{}},
		{"redis: two rules, refused from memory", expense{0, 0, 0}, set("two"), 1, redisstore.Config{}},
		{"redis: one rule, refused by the server", expense{1, 3, 19}, set("one"), 1, uncached},
		{"redis: two rules, refused by the server", expense{1, 4, 22}, set("two"), 1, uncached},
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
		got, err := e.count(server)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", e.name, err))
			continue
		}
		fmt.Printf("%-56s %v\n", e.name, got)
		faults = append(faults, e.judge(got))
	}
	return errors.Join(faults...)
}

// count returns what one request costs.
func (e exchange) count(server *servers.Server) (expense, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which would empty pools
	client := redis.NewClient(&redis.Options{Addr: server.Addr, ContextTimeoutEnabled: true})
	defer func() { _ = client.Close() }()
	trips := new(tripCounter)
	client.AddHook(trips)
	e.config.Timeout = time.Minute // a busy machine may take long
	store, err := redisstore.New(client, e.config)
	if err != nil {
		return expense{}, err
	}
	handler, err := rulesets.Handler(store, e.rules(e.limit, 6*time.Hour)) // of which a rule has up to 1,440
	if err != nil {
		return expense{}, err
	}
	request := rulesets.Requesting(handler)
	// Where it is more than it should be it is counted again: a window may have begun, or a connection been made.
	const attempts = 3
	var got expense
	for attempt := range attempts {
		name := fmt.Sprint("client", attempt)
		for range 3 { // it is known then, the server has the script, and the deny cache a refusal
			if _, err := request(name); err != nil {
				return expense{}, err
			}
		}
		got, err = expenseOf(server, trips, func() error {
			allowed, err := request(name)
			if err == nil && allowed != (e.limit > 1) {
				err = fmt.Errorf("allowed is %v, want %v", allowed, e.limit > 1)
			}
			return err
		})
		if err != nil || !got.above(e.most) {
			break
		}
	}
	return got, err
}

// expenseOf returns what one of many requests costs.
func expenseOf(server *servers.Server, trips *tripCounter, op operation) (expense, error) {
	before, err := callsOf(server)
	if err != nil {
		return expense{}, err
	}
	trips.n.Store(0)
	const runs = 50
	var wrong error
	allocs := testing.AllocsPerRun(runs, func() {
		if err := op(); err != nil {
			wrong = err
		}
	})
	after, err := callsOf(server)
	// Rounded up, so that one too many shows. AllocsPerRun has one run more.
	return expense{
		trips: ceil(int(trips.n.Load()), runs+1), commands: ceil(after-before, runs+1), allocs: int(allocs),
	}, errors.Join(wrong, err)
}

func ceil(n, of int) int { return (n + of - 1) / of }

func (e exchange) judge(got expense) error {
	if got.above(e.most) {
		return fmt.Errorf("%s: it takes %v, want at most %v", e.name, got, e.most)
	}
	if got != e.most {
		fmt.Printf("%-56s     lower its figures in guard/commands.go to these, to keep what was gained\n", "")
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
type tripCounter struct{ n atomic.Int64 }

func (t *tripCounter) DialHook(next redis.DialHook) redis.DialHook { return next }

func (t *tripCounter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() != "ping" {
			t.n.Add(1)
		}
		return next(ctx, cmd)
	}
}

func (t *tripCounter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		t.n.Add(1)
		return next(ctx, cmds)
	}
}
