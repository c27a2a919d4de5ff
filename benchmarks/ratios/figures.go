package main

import (
	"bufio"
	"io"
	"slices"
	"strconv"
	"strings"
)

// figure is the name of a measurement.
type figure struct {
	benchmark string // "Memory"
	load      string // "load=hot answer=allowed threads=2"
	limiter   string
	unit      string // "ns/op"
}

// figures are the values of all rounds.
type figures map[figure][]float64

// facts are what a run says of the machine and its programs.
type facts map[string]string

// told are the facts that are printed, in this order.
var told = []string{"cpu", "processors", "go", "redis", "memcached"}

func (f facts) String() string {
	var parts []string
	for _, name := range told {
		if f[name] != "" {
			parts = append(parts, name+": "+f[name])
		}
	}
	return strings.Join(parts, "; ")
}

// read takes in the lines of go test -bench and what a run says about itself; others are left out.
func (f figures) read(r io.Reader, about facts) error {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if name, value, ok := strings.Cut(lines.Text(), ": "); ok && slices.Contains(told, name) {
			about[name] = value
		}
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		if _, err := strconv.Atoi(fields[1]); err != nil {
			continue // a benchmark that failed has no number of operations
		}
		name := parseName(fields[0])
		for i := 2; i+1 < len(fields); i += 2 {
			value, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return err
			}
			name.unit = fields[i+1]
			f[name] = append(f[name], value)
		}
	}
	return lines.Err()
}

// parseName splits BenchmarkMemory/load=hot/limiter=none-2. Without a number at its end it ran on one thread.
func parseName(name string) figure {
	threads := "1"
	if at := strings.LastIndexByte(name, '-'); at >= 0 {
		if _, err := strconv.Atoi(name[at+1:]); err == nil {
			name, threads = name[:at], name[at+1:]
		}
	}
	parts := strings.Split(strings.TrimPrefix(name, "Benchmark"), "/")
	f := figure{benchmark: parts[0]}
	var load []string
	for _, part := range parts[1:] {
		if limiter, ok := strings.CutPrefix(part, "limiter="); ok {
			f.limiter = limiter
		} else {
			load = append(load, part)
		}
	}
	f.load = strings.Join(append(load, "threads="+threads), " ")
	return f
}
