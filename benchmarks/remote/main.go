// Command remote measures limiters that count in Redis or memcached. It starts servers of its own on free ports of
// this machine and stops them again. It prints lines as go test -bench does, for benchstat and for the command ratios.
//
// Servers and callers share the machine's processors, so decisions a second tell the CPU time of both. Rounds follow
// each other, and in each the limiters do under one load, so that what is compared is measured within a minute or so.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "remote:", err)
		os.Exit(1)
	}
}

type options struct {
	length, warm time.Duration
	rounds       int
	only         *regexp.Regexp
}

func run() error {
	var o options
	flag.DurationVar(&o.length, "for", 8*time.Second, "how long to measure each limiter under each load")
	flag.DurationVar(&o.warm, "warm", time.Second, "how long to warm up before")
	flag.IntVar(&o.rounds, "rounds", 1, "how often to do everything")
	only := flag.String("only", "", "measure only names that match this regular expression")
	flag.Parse()
	var err error
	if o.only, err = regexp.Compile(*only); err != nil {
		return err
	}
	fmt.Printf(
		"goos: %s\ngoarch: %s\npkg: github.com/httplimit/httplimit/benchmarks/remote\n",
		runtime.GOOS,
		runtime.GOARCH,
	)

	// What fails is reported at the end, so that one wrong answer does not cost all that is measured after it.
	var faults []error
	for range o.rounds {
		for _, b := range backends() {
			faults = append(faults, o.measureBackend(b))
		}
	}
	faults = append(faults, o.measureFootprints())
	return errors.Join(faults...)
}

// backend is a kind of server, what counts in it, and how it is used.
type backend struct {
	name     string
	start    func() (*server, error)
	subjects []subject
	loads    []load
}

func backends() []backend {
	return []backend{
		{"redis", startRedis, redisSubjects(), []load{
			{callers: 1},
			{callers: 64},
			{callers: 256},
			{callers: 64, offered: 20_000},
			{callers: 64, offered: 20_000, together: true},
			{callers: 64, offered: 50_000},
			{callers: 64, offered: 50_000, together: true},
			{callers: 64, refused: true},
		}},
		{"memcached", startMemcached, memcachedSubjects(), []load{
			{callers: 1},
			{callers: 64},
			{callers: 64, offered: 20_000},
			{callers: 64, refused: true},
		}},
	}
}

func (o options) measureBackend(b backend) error {
	var faults []error
	for _, l := range b.loads {
		for _, s := range b.subjects {
			name := fmt.Sprintf("Remote/server=%s/%v/limiter=%s", b.name, l, s.name)
			if !s.runs(l) || !o.only.MatchString(name) {
				continue
			}
			m, err := o.measure(b, l, s)
			if err != nil {
				faults = append(faults, fmt.Errorf("%s: %w", name, err))
				continue
			}
			fmt.Printf("Benchmark%s-%d\t%v\n", name, runtime.GOMAXPROCS(0), m)
		}
	}
	return errors.Join(faults...)
}
