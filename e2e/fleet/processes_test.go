package fleet_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit/e2e/servers"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/redisstore"
)

// callerEnv holds a server's address and makes this program one of the processes of TestProcesses.
const callerEnv = "FLEET_TEST_CALLER"

const (
	processes = 4
	callers   = 8
	calls     = 2000 // of each caller
	quotaEach = 400  // units of each counter
)

// counters are all that the processes ask for. Windows without a boundary get refunds as well; those of a second are
// crossed again and again.
func counters() (all []limiter.Charge) {
	for _, algorithm := range []limiter.Algorithm{
		limiter.SlidingWindow, limiter.SlidingLog, limiter.FixedWindow, limiter.TokenBucket, limiter.StrictWindow,
	} {
		for _, key := range []string{"a", "b", "c"} {
			limit := limiter.Limit{Requests: quotaEach, Window: still, Algorithm: algorithm}
			all = append(all, limiter.Charge{Scope: "scope", Key: key, Limit: limit})
		}
	}
	for _, algorithm := range []limiter.Algorithm{limiter.SlidingWindow, limiter.FixedWindow} {
		limit := limiter.Limit{Requests: quotaEach, Window: time.Second, Algorithm: algorithm}
		all = append(all, limiter.Charge{Scope: "scope", Key: "short", Limit: limit})
	}
	return all
}

// changes are what decisions have done to counters: for each counter and window, and each count that it had, how many
// decisions have left that count less how many have come to it. If every decision was made on the counts that the one
// before it had left, they cancel out, but for where the counter began and where it ended.
type changes map[string]map[int64]int

func (c changes) add(charge *limiter.Charge, delta int64) {
	if delta == 0 {
		return
	}
	name := place(charge)
	if c[name] == nil {
		c[name] = make(map[int64]int)
	}
	c[name][charge.Current]++
	c[name][charge.Current+delta]--
}

// place names the counter of a decided charge, and its window where counts are those of one.
func place(c *limiter.Charge) string {
	window := int64(0)
	if c.Limit.Algorithm == limiter.SlidingWindow || c.Limit.Algorithm == limiter.FixedWindow {
		window = c.At / c.Limit.Window.Milliseconds()
	}
	return fmt.Sprint(c.Key, " ", c.Limit, " ", window)
}

// process is one of the processes: it asks, and prints what the decisions have changed.
func process(addr string) error {
	client := redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true})
	defer client.Close()
	store, err := redisstore.New(client, redisstore.Config{Timeout: patient, DenyCache: noCache})
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var faults []error
	all := make(changes)
	var asking sync.WaitGroup
	for range callers {
		asking.Go(func() {
			caller := &caller{store: store, random: rand.New(rand.NewPCG(rand.Uint64(), 0)), changes: make(changes)}
			err := caller.run()
			mu.Lock()
			defer mu.Unlock()
			faults = append(faults, err)
			for name, counts := range caller.changes {
				if all[name] == nil {
					all[name] = make(map[int64]int)
				}
				for count, n := range counts {
					all[name][count] += n
				}
			}
		})
	}
	asking.Wait()
	if i := slices.IndexFunc(faults, func(err error) bool { return err != nil }); i >= 0 {
		return faults[i]
	}
	return json.NewEncoder(os.Stdout).Encode(all)
}

type caller struct {
	store   *redisstore.Store
	random  *rand.Rand
	changes changes
	spent   []limiter.Charge // that can be given back
}

func (c *caller) run() error {
	known := counters()
	for range calls {
		if n := len(c.spent); n > 0 && c.random.IntN(3) == 0 {
			if err := c.refund(c.spent[n-1]); err != nil {
				return err
			}
			c.spent = c.spent[:n-1]
			continue
		}
		if c.random.IntN(2) == 0 {
			if err := c.take([]limiter.Charge{crowded(known, c.random)}); err != nil {
				return err
			}
			continue
		}
		batch := make([]limiter.Charge, 1+c.random.IntN(3))
		for i, n := range c.random.Perm(len(known))[:len(batch)] {
			batch[i] = known[n]
			batch[i].Cost = 1 + c.random.Int64N(5)
			batch[i].Mode = []limiter.Mode{
				limiter.Enforce, limiter.Enforce, limiter.Enforce, limiter.Shadow, limiter.Peek, limiter.Force,
			}[c.random.IntN(6)]
		}
		if err := c.take(batch); err != nil {
			return err
		}
	}
	return nil
}

// crowded returns a charge for which many ask at once: they share a flight, and its last units.
func crowded(known []limiter.Charge, random *rand.Rand) limiter.Charge {
	charge := known[0]
	if random.IntN(2) == 0 {
		charge = known[slices.IndexFunc(known, func(k limiter.Charge) bool {
			return k.Limit.Algorithm == limiter.StrictWindow
		})]
	}
	charge.Cost = 1
	return charge
}

func (c *caller) take(batch []limiter.Charge) error {
	taken, err := c.store.Take(context.Background(), batch)
	if err != nil {
		return err
	}
	want := true
	for i := range batch {
		b := &batch[i]
		if fits := fits(b); b.Allowed != (fits || b.Mode == limiter.Force) {
			return fmt.Errorf("%v of %v at %+v: allowed %v, want %v", b.Cost, b.Limit, b.State, b.Allowed, fits)
		}
		want = want && (b.Allowed || b.Mode != limiter.Enforce)
	}
	if taken != want {
		return fmt.Errorf("%+v: taken %v, want %v", batch, taken, want)
	}
	for i := range batch {
		if b := &batch[i]; taken && b.Allowed && b.Mode != limiter.Peek {
			c.changes.add(b, b.Cost)
			if b.Limit.Window == still {
				c.spent = append(c.spent, *b)
			}
		}
	}
	return nil
}

// fits is the definition, on the counts of the decision.
func fits(c *limiter.Charge) bool {
	if c.Limit.Algorithm != limiter.SlidingWindow {
		return c.Current+c.Cost <= c.Limit.Requests
	}
	w := c.Limit.Window.Milliseconds()
	return c.Previous*(w-c.At%w)+(c.Current+c.Cost)*w <= c.Limit.Requests*w+w-1
}

func (c *caller) refund(spent limiter.Charge) error {
	spent.Cost, spent.Mode = -spent.Cost, limiter.Enforce
	batch := []limiter.Charge{spent}
	if _, err := c.store.Take(context.Background(), batch); err != nil {
		return err
	}
	if batch[0].Current < -spent.Cost {
		return fmt.Errorf("%v given back to %v, which held %d", -spent.Cost, spent.Limit, batch[0].Current)
	}
	c.changes.add(&batch[0], spent.Cost)
	return nil
}

// Four processes ask for all algorithms, in all modes, and give units back. Every decision is that of the definition on
// the counts that it saw, and no two saw the same.
func TestProcesses(t *testing.T) {
	t.Parallel()
	addr := servers.Redis(t).Addr()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	all := make(changes)
	var mu sync.Mutex
	var running sync.WaitGroup
	for range processes {
		running.Go(func() {
			own := exec.CommandContext(t.Context(), program)
			own.Env = append(os.Environ(), callerEnv+"="+addr)
			own.Stderr = os.Stderr
			out, err := own.Output()
			if err != nil {
				t.Error(err)
				return
			}
			var changed changes
			if err := json.NewDecoder(bytes.NewReader(out)).Decode(&changed); err != nil {
				t.Errorf("%v: %s", err, out)
			}
			mu.Lock()
			defer mu.Unlock()
			for name, counts := range changed {
				if all[name] == nil {
					all[name] = make(map[int64]int)
				}
				for count, n := range counts {
					all[name][count] += n
				}
			}
		})
	}
	running.Wait()
	store := newStore(t, operator(t, addr), redisstore.Config{Prefix: redisstore.DefaultPrefix, DenyCache: noCache})
	for _, c := range counters() {
		if c.Limit.Window != still {
			continue
		}
		c.Mode, c.Cost = limiter.Peek, 1
		batch := []limiter.Charge{c}
		if _, err := store.Take(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		counts := all[place(&batch[0])]
		if counts == nil {
			t.Errorf("%s of %v was never spent from", c.Key, c.Limit)
			continue
		}
		counts[batch[0].Current]++ // where it ended
	}
	for name, counts := range all {
		counts[0]-- // where it began
		var loose []string
		for count, n := range counts {
			if n != 0 {
				loose = append(loose, fmt.Sprintf("%+d at %d", n, count))
			}
		}
		// Where a window of a second ended nobody has seen: one decision has come there, and none has left.
		if short := strings.Contains(name, "/s"); short && (len(loose) != 1 || !strings.HasPrefix(loose[0], "-1 ")) ||
			!short && len(loose) > 0 {
			t.Errorf("%s: decisions that have left a count, less those that have come to it: %v, want none", name, loose)
		}
	}
}
