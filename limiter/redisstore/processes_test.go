package redisstore_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/redisstore"
)

// callerEnv holds a server's address and makes this program a caller of TestProcessesAdmitTheLimit.
const callerEnv = "REDISSTORE_TEST_CALLER"

const (
	processes         = 4
	callersPerProcess = 16
	callsPerCaller    = 100
)

func sharedLimits() []limiter.Limit {
	var limits []limiter.Limit
	for _, a := range everyAlgorithm {
		limits = append(limits, per(a, 1000, 300*24*time.Hour))
	}
	return limits
}

func TestMain(m *testing.M) {
	// The fake server makes a Lua state for each call: collected as often as usual, they cost a third of all CPU time.
	debug.SetGCPercent(400)
	if addr := os.Getenv(callerEnv); addr != "" {
		if err := call(addr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// call spends from one key as fast as it can, and prints for each limit how often it was let in.
func call(addr string) error {
	client := redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true})
	defer client.Close()
	store, err := redisstore.New(client, redisstore.Config{Timeout: patient})
	if err != nil {
		return err
	}
	for _, limit := range sharedLimits() {
		var allowed atomic.Int64
		var fault atomic.Value
		together(callersPerProcess, func(int) {
			for range callsPerCaller {
				taken, err := store.Take(context.Background(), []limiter.Charge{charge("hot", limit, 1)})
				if err != nil {
					fault.Store(err)
				}
				if taken {
					allowed.Add(1)
				}
			}
		})
		if err, ok := fault.Load().(error); ok {
			return err
		}
		fmt.Print(allowed.Load(), " ")
	}
	return nil
}

func TestProcessesAdmitTheLimit(t *testing.T) {
	t.Parallel()
	addr := startRedis(t)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	allowed := make([]int64, len(everyAlgorithm))
	var mu sync.Mutex
	together(processes, func(int) {
		caller := exec.CommandContext(t.Context(), program)
		caller.Env = append(os.Environ(), callerEnv+"="+addr)
		caller.Stderr = os.Stderr
		out, err := caller.Output()
		if err != nil {
			t.Error(err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for i, field := range strings.Fields(string(out)) {
			n, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				t.Error(err)
			}
			allowed[i] += n
		}
	})
	for i, limit := range sharedLimits() {
		if allowed[i] != limit.Requests {
			t.Errorf("%v: %d processes with %d callers each were let in %d times, want %d",
				limit, processes, callersPerProcess, allowed[i], limit.Requests)
		}
	}
}
