package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// load is how many callers ask, how fast, and which answer they have to get.
type load struct {
	callers int
	offered int // decisions a second, of all callers together; 0: each asks again as soon as it has its answer
	refused bool
}

func (l load) String() string {
	offered, answer := "max", "allowed"
	if l.offered > 0 {
		offered = strconv.Itoa(l.offered)
	}
	if l.refused {
		answer = "refused"
	}
	return fmt.Sprintf("callers=%d/offered=%s/answer=%s", l.callers, offered, answer)
}

// sample is what was measured of one subject under one load.
type sample struct {
	decisions      int64
	took           time.Duration
	server, client time.Duration // CPU time
	commands       int64         // that a Redis server ran, those inside scripts too; memcached does not tell
	latencies      histogram
}

// String is what go test -bench prints behind the name.
func (s *sample) String() string {
	each := func(d time.Duration) float64 { return float64(d) / float64(s.decisions) }
	line := fmt.Sprintf(
		"%d\t%.0f ns/op\t%.0f decisions/s\t%d p50-ns\t%d p99-ns\t%d max-ns\t"+
			"%.0f server-ns/op\t%.0f client-ns/op\t%.0f cpu-ns/op",
		s.decisions,
		each(s.took),
		float64(s.decisions)/s.took.Seconds(),
		s.latencies.quantile(0.5),
		s.latencies.quantile(0.99),
		s.latencies.quantile(1),
		each(s.server),
		each(s.client),
		each(s.server+s.client),
	)
	if s.commands > 0 {
		line += fmt.Sprintf("\t%.3f commands/op", float64(s.commands)/float64(s.decisions))
	}
	return line
}

// run keeps callers busy for a while and returns what they saw. An answer that is wrong is an error.
func (l load) run(session func() take, keys []string, d time.Duration) (*sample, error) {
	var (
		wait     sync.WaitGroup
		stop     atomic.Bool
		mu       sync.Mutex
		total    sample
		faults   []error
		began    = time.Now()
		overtime = began.Add(d)
	)
	time.AfterFunc(d, func() { stop.Store(true) })
	for range l.callers {
		wait.Go(func() {
			c := caller{take: session(), keys: keys, want: !l.refused, due: began}
			if l.offered > 0 {
				c.gap = time.Duration(l.callers) * time.Second / time.Duration(l.offered)
			}
			err := c.ask(&stop, overtime)
			mu.Lock()
			defer mu.Unlock()
			total.decisions += c.decisions
			total.latencies.add(&c.latencies)
			faults = append(faults, err)
		})
	}
	wait.Wait()
	total.took = time.Since(began)
	return &total, errors.Join(faults...)
}

// caller is one goroutine's part of a load.
type caller struct {
	take      take
	keys      []string
	want      bool
	gap       time.Duration // between two decisions, on average; 0: none
	due       time.Time     // for the next decision
	decisions int64
	latencies histogram
}

func (c *caller) ask(stop *atomic.Bool, end time.Time) error {
	ctx := context.Background()
	for before := time.Now(); !stop.Load(); {
		if c.gap > 0 {
			if c.pause(); c.due.After(end) {
				return nil
			}
			before = time.Now()
		}
		key := c.keys[rand.IntN(len(c.keys))]
		allowed, err := c.take(ctx, key)
		if err != nil || allowed != c.want {
			return fmt.Errorf("%s: allowed is %v, want %v (%w)", key, allowed, c.want, err)
		}
		after := time.Now()
		c.latencies.count(after.Sub(before))
		c.decisions++
		before = after
	}
	return nil
}

// pause waits until the next decision is due, at a random moment whether the one before had to wait or not.
func (c *caller) pause() {
	c.due = c.due.Add(time.Duration(rand.ExpFloat64() * float64(c.gap)))
	time.Sleep(time.Until(c.due))
}
