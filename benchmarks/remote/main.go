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

	"github.com/httplimit/httplimit/benchmarks/servers"
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
	flag.DurationVar(&o.length, "for", 2*time.Second, "how long to measure each limiter under each load")
	flag.DurationVar(&o.warm, "warm", time.Second/2, "how long to warm up before")
	flag.IntVar(&o.rounds, "rounds", 4, "how often to do everything")
	only := flag.String("only", "", "measure only names that match this regular expression, such as ^Rules")
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
		for _, t := range tables() {
			faults = append(faults, o.measureTable(t))
		}
	}
	faults = append(faults, o.measureFootprints())
	return errors.Join(faults...)
}

// table is what is compared with each other: a kind of server, what counts in it, and how it is used.
type table struct {
	name     string
	start    func() (*servers.Server, error)
	subjects []subject
	loads    []load
}

func tables() []table {
	return []table{
		{"Remote/server=redis", servers.Redis, redisSubjects(), []load{
			{callers: 1},
			{callers: 64},
			{callers: 256},
			{callers: 64, offered: 20_000},
			{callers: 64, offered: 50_000},
			{callers: 64, refused: true},
		}},
		{"Rules/server=redis", servers.Redis, rulesSubjects(), []load{
			{callers: 1},
			{callers: 64},
		}},
		{"Remote/server=memcached", servers.Memcached, memcachedSubjects(), []load{
			{callers: 1},
			{callers: 64},
			{callers: 64, offered: 20_000},
			{callers: 64, refused: true},
		}},
	}
}

func (o options) measureTable(t table) error {
	var faults []error
	for _, l := range t.loads {
		for _, s := range t.subjects {
			name := s.called(fmt.Sprintf("%s/%v", t.name, l))
			if !s.runs(l) || !o.only.MatchString(name) {
				continue
			}
			m, err := o.measure(t, l, s)
			if err != nil {
				faults = append(faults, fmt.Errorf("%s: %w", name, err))
				continue
			}
			fmt.Printf("Benchmark%s-%d\t%v\n", name, runtime.GOMAXPROCS(0), m)
		}
	}
	return errors.Join(faults...)
}
