package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/httplimit/httplimit/benchmarks/servers"
	"github.com/httplimit/httplimit/benchmarks/workload"
)

const (
	clients = 10_000
	// refusedClients is how many clients are over their limit, which is that of all who come back after a
	// first request.
	refusedClients = 2_000
	plenty         = 1_000_000 // a minute
)

// measure gives the subject a server of its own, warms both up, and loads them.
func (o options) measure(t table, l load, s subject) (*sample, error) {
	server, err := t.start()
	if err != nil {
		return nil, err
	}
	defer server.Stop()
	keys, limit, window := workload.Addresses(clients), int64(plenty), time.Minute
	if l.refused {
		keys, limit, window = keys[:refusedClients], 1, workload.Window
	}
	limiter, err := s.open(server.Addr, limit, window)
	if err != nil {
		return nil, err
	}
	defer limiter.close()
	if err := visit(limiter, keys); err != nil {
		return nil, err
	}
	if _, err := l.run(limiter.session, keys, o.warm); err != nil {
		return nil, err
	}
	before, err := readMeters(server)
	if err != nil {
		return nil, err
	}
	result, err := l.run(limiter.session, keys, o.length)
	if err != nil {
		return nil, err
	}
	after, err := readMeters(server)
	if err != nil {
		return nil, err
	}
	result.server, result.client = after.server-before.server, after.client-before.client
	result.commands = after.commands - before.commands
	return result, nil
}

// visitors is how many callers visit: few, so that their connections weigh little in a footprint.
const visitors = 16

// visit takes one request of each client. Before a load it makes them known to the server, as nearly all are in a
// service that runs: of 20,000 requests a second from 10,000 clients, one in 120 is its client's first in a minute.
func visit(limiter *opened, keys []string) error {
	var wait sync.WaitGroup
	faults := make([]error, visitors)
	for n := range visitors {
		wait.Go(func() {
			take := limiter.session()
			for i := n; i < len(keys) && faults[n] == nil; i += visitors {
				if allowed, err := take(context.Background(), keys[i]); !allowed || err != nil {
					faults[n] = fmt.Errorf(
						"the first request of %s: allowed is %v, want true (%w)", keys[i], allowed, err,
					)
				}
			}
		})
	}
	wait.Wait()
	return errors.Join(faults...)
}

// meters are read before and after a load.
type meters struct {
	server, client time.Duration // CPU time
	commands       int64
}

func readMeters(s *servers.Server) (m meters, err error) {
	var faults [3]error
	m.client, faults[0] = workload.CPU()
	m.server, faults[1] = s.CPU()
	m.commands, faults[2] = commands(s)
	return m, errors.Join(faults[:]...)
}

// commands is how many commands a Redis server has run, those inside scripts too. It is 0 for memcached.
func commands(s *servers.Server) (int64, error) {
	stats, err := s.Info()
	if err != nil {
		return 0, err
	}
	text, ok := stats["total_commands_processed"]
	if !ok {
		return 0, nil
	}
	return strconv.ParseInt(text, 10, 64)
}
