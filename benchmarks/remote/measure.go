package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

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
	defer server.stop()
	keys, limit, window := workload.Addresses(clients), int64(plenty), time.Minute
	if l.refused {
		keys, limit, window = keys[:refusedClients], 1, workload.Window
	}
	limiter, err := s.open(server.addr, limit, window)
	if err != nil {
		return nil, err
	}
	defer limiter.close()
	if l.refused {
		if err := spend(limiter, keys); err != nil {
			return nil, err
		}
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

// spend takes what each client has.
func spend(limiter *opened, keys []string) error {
	take := limiter.session()
	for _, key := range keys {
		if allowed, err := take(context.Background(), key); err != nil || !allowed {
			return fmt.Errorf("the first request of %s: allowed is %v, want true (%w)", key, allowed, err)
		}
	}
	return nil
}

// meters are read before and after a load.
type meters struct {
	server, client time.Duration // CPU time
	commands       int64
}

func readMeters(s *server) (m meters, err error) {
	var faults [3]error
	m.client, faults[0] = workload.CPU()
	m.server, faults[1] = s.cpu()
	m.commands, faults[2] = commands(s.addr)
	return m, errors.Join(faults[:]...)
}

// commands is how many commands a Redis server has run, those inside scripts too. It is 0 for memcached.
func commands(addr string) (int64, error) {
	stats, err := info(addr)
	if err != nil {
		return 0, err
	}
	text, ok := stats["total_commands_processed"]
	if !ok {
		return 0, nil
	}
	return strconv.ParseInt(text, 10, 64)
}

// info asks a Redis server for INFO; memcached does not know it and tells nothing.
func info(addr string) (map[string]string, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	if _, err := conn.Write([]byte("INFO\r\n")); err != nil {
		return nil, err
	}
	r := bufio.NewReader(conn)
	head, err := r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	size, err := strconv.Atoi(strings.Trim(head, "$\r\n"))
	if err != nil {
		return nil, nil // not an answer of Redis
	}
	lines := make(map[string]string)
	for size > 0 {
		line, err := r.ReadString('\n')
		if err != nil {
			return nil, err
		}
		size -= len(line)
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			lines[name] = value
		}
	}
	return lines, nil
}
