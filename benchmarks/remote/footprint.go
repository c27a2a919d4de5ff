package main

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/httplimit/httplimit/benchmarks/servers"
	"github.com/httplimit/httplimit/benchmarks/workload"
)

const (
	footClients = 10_000
	// footWindow is long enough for the slowest to get all clients through, and short enough to wait for.
	footWindow = 10 * time.Second
	footLimit  = 100
)

// measureFootprints tells what Redis keeps of a client that came once in this window and once in the one before. It is
// bytes, and not time, so that a few are measured at once, each with a server of its own.
func (o options) measureFootprints() error {
	subjects := append(redisSubjects(), rulesSubjects()...)
	var (
		wait   sync.WaitGroup
		at     = make(chan struct{}, 4)
		faults = make([]error, len(subjects))
		lines  = make([]string, len(subjects))
	)
	for i, s := range subjects {
		name := s.called("Footprint/server=redis")
		if s.kind != limits && s.kind != counts || !o.only.MatchString(name) {
			continue
		}
		wait.Go(func() {
			at <- struct{}{}
			defer func() { <-at }()
			line, err := measureFootprint(s)
			if err != nil {
				faults[i] = fmt.Errorf("%s: %w", name, err)
				return
			}
			lines[i] = fmt.Sprintf("Benchmark%s-%d\t%s\n", name, runtime.GOMAXPROCS(0), line)
		})
	}
	wait.Wait()
	fmt.Print(strings.Join(lines, ""))
	return errors.Join(faults...)
}

func measureFootprint(s subject) (string, error) {
	server, err := servers.Redis()
	if err != nil {
		return "", err
	}
	defer server.Stop()
	limiter, err := s.open(server.Addr, footLimit, footWindow)
	if err != nil {
		return "", err
	}
	defer limiter.close()

	keys := workload.Addresses(footClients + visitors)
	connected, keys := keys[footClients:], keys[:footClients]
	if err := visit(limiter, connected); err != nil {
		return "", err
	}
	before, err := server.Info()
	if err != nil {
		return "", err
	}
	for range 2 {
		time.Sleep(time.Until(time.Now().Truncate(footWindow).Add(footWindow)))
		if err := visit(limiter, keys); err != nil {
			return "", err
		}
	}
	after, err := server.Info()
	if err != nil {
		return "", err
	}
	return describe(before, after)
}

func describe(before, after map[string]string) (string, error) {
	var used [2]float64
	for i, stats := range []map[string]string{before, after} {
		var err error
		if used[i], err = strconv.ParseFloat(stats["used_memory"], 64); err != nil {
			return "", err
		}
	}
	var keys, mortal int64
	if space := after["db0"]; space != "" { // a server without a key does not name it
		if _, err := fmt.Sscanf(strings.ReplaceAll(space, ",", " "), "keys=%d expires=%d", &keys, &mortal); err != nil {
			return "", fmt.Errorf("INFO keyspace %q: %w", space, err)
		}
	}
	return fmt.Sprintf("%d\t%.1f server-B/client\t%.2f keys/client\t%d keys-without-expiry",
		footClients, (used[1]-used[0])/footClients, float64(keys)/footClients, keys-mortal), nil
}
