// Command accuracy compares what limiters decide with an exact log of what they have admitted: synthetic traffic, an
// adversary that knows when windows begin and searches for the traffic that gets most, and access logs. It prints
// Markdown tables, and draws the pictures of docs/algorithms.md:
//
//	go run ./accuracy [-windows 20] [-steps 2000] [-limit 20/m] [-pictures ../docs] [access.log...]
//
// Time is moved, not slept, for all but go-limiter, which reads the machine's clock past package time. Access logs are
// in the combined format.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofiber/fiber/v2/utils"
	"github.com/httplimit/httplimit/limiter"
)

func main() {
	windows := flag.Int("windows", 20, "how many windows the synthetic traffic lasts")
	steps := flag.Int("steps", 2000, "how many plans the adversary tries against each limiter")
	perLog := flag.String("limit", "20/m", "the limit under which access logs are replayed")
	pictures := flag.String("pictures", "", "draw pictures into this folder, and do nothing else")
	// Package synctest moves the clock of a test, so the program is one.
	everything := func(string, string) (bool, error) { return true, nil }
	testing.Main(everything, []testing.InternalTest{{Name: "accuracy", F: func(t *testing.T) {
		err := run(t, os.Stdout, *windows, *steps, *perLog, *pictures, flag.Args())
		if err != nil {
			fmt.Fprintln(os.Stderr, "accuracy:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}}}, nil, nil)
}

// bubble runs f on a clock that moves on when nothing else happens.
func bubble(t *testing.T, f func()) { synctest.Test(t, func(*testing.T) { f() }) }

func run(t *testing.T, out io.Writer, windows, steps int, perLog, pictures string, logs []string) error {
	// Fiber's goroutine that reads the clock runs for ever, so it must not be started where the clock is moved.
	utils.StartTimeStampUpdater()
	if pictures != "" {
		return draw(t, pictures)
	}
	l, err := limiter.ParseLimit(perLog)
	if err != nil {
		return err
	}
	var sleeping sync.WaitGroup
	var asleep []result
	sleeping.Go(func() { asleep = sleepers(windows) })
	for i, s := range scenarios(windows) {
		results := table(t, s, limit, window)
		if i == 0 {
			sleeping.Wait()
		}
		if i < len(asleep) {
			results = append(results, asleep[i])
		}
		write(out, s.name, limit, results)
	}
	writeSearch(t, out, steps)
	for _, name := range logs {
		if err := writeLog(t, out, name, l); err != nil {
			return err
		}
	}
	return nil
}

// result is what one limiter made of one scenario.
type result struct {
	name string
	figures
}

func table(t *testing.T, s scenario, limit int, window time.Duration) (results []result) {
	for _, subject := range moved() {
		inside := subject.outside(limit, window)
		var got figures
		bubble(t, func() { got = replay(inside(), s.requests, limit, window) })
		results = append(results, result{subject.name, got})
	}
	return results
}

// sleepers are the results of go-limiter: the scenarios of single clients all at once, thirty times faster.
func sleepers(windows int) []result {
	const alone, faster = 9, 30
	results := make([]result, alone)
	var all sync.WaitGroup
	for i, s := range scenarios(windows)[:alone] {
		all.Go(func() {
			results[i] = result{"go-limiter, fixed (slept)", slept(goLimiterFixed, s.requests, limit, window, faster)}
		})
	}
	all.Wait()
	return results
}

func write(out io.Writer, name string, limit int, results []result) {
	fmt.Fprintf(out, "\n%s: %d requests\n\n", name, results[0].requests)
	fmt.Fprintln(out, "| | admitted | above the limit | refused below it | most in one window |")
	fmt.Fprintln(out, "|---|---|---|---|---|")
	for _, r := range results {
		of := float64(max(1, r.requests))
		fmt.Fprintf(out, "| %s | %.2f %% | %.3f %% | %.3f %% | %.2f |\n", r.name, 100*float64(r.admitted)/of,
			100*float64(r.over)/of, 100*float64(r.refused)/of, float64(r.most)/float64(limit))
	}
}

func writeSearch(t *testing.T, out io.Writer, steps int) {
	fmt.Fprintf(out, "\nthe most that an adversary got within one window, of %d plans\n\n| | of the limit |\n|---|---|\n",
		steps+len(known()))
	for _, subject := range moved() {
		inside := subject.outside(limit, window)
		most := 0
		bubble(t, func() { most = search(inside(), steps) })
		fmt.Fprintf(out, "| %s | %.2f |\n", subject.name, float64(most)/limit)
	}
}

func writeLog(t *testing.T, out io.Writer, name string, l limiter.Limit) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	requests, bad, err := readLog(f)
	if err != nil {
		return err
	}
	if len(requests) == 0 {
		return fmt.Errorf("%s: no line of the combined format", name)
	}
	fmt.Fprintf(out, "\n%d lines of another format left out", bad)
	write(out, "an access log under "+l.String(), int(l.Requests),
		table(t, scenario{requests: requests}, int(l.Requests), l.Window))
	return nil
}
