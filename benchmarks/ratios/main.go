// Command ratios reads what the benchmarks printed, in one file or several, and prints Markdown tables: what became of
// the goals, then each figure of httplimit beside that of its best rival in the same run. Of several rounds it takes
// the median; with -best the best one of each, which is what is left of a machine that has other work too.
//
//	go run ./ratios [-best] results/raw.txt...
//	go run ./ratios -goals results/raw.txt...     the goals only
//	go run ./ratios -summary results/raw.txt...   the lines of the README only
//	go run ./ratios -capacity results/raw.txt...  the tables of docs/capacity.md only
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	var v view
	flag.BoolVar(&v.best, "best", false, "take the best of all rounds, and not their median")
	flag.BoolVar(&v.goals, "goals", false, "print the goals only")
	flag.BoolVar(&v.summary, "summary", false, "print the lines of the README only")
	flag.BoolVar(&v.capacity, "capacity", false, "print the tables of docs/capacity.md only")
	flag.Parse()
	if err := run(flag.Args(), v); err != nil {
		fmt.Fprintln(os.Stderr, "ratios:", err)
		os.Exit(1)
	}
}

// view is what to print.
type view struct{ best, goals, summary, capacity bool }

func run(files []string, v view) error {
	figures, about := make(figures), make(facts)
	if len(files) == 0 {
		if err := figures.read(os.Stdin, about); err != nil {
			return err
		}
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		err = figures.read(f, about)
		f.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	v.write(os.Stdout, figures, about)
	return nil
}

func (v view) write(out io.Writer, f figures, about facts) {
	switch {
	case v.summary:
		writeSummary(out, medians{f, v.best})
		return
	case v.capacity:
		writeCapacity(out, f, v.best)
		return
	}
	if len(about) > 0 {
		fmt.Fprintf(out, "\n%v. Rivals as in `go.mod`.\n", about)
	}
	writeGoals(out, f, v.best)
	if v.goals {
		return
	}
	for _, t := range tables {
		t.best = v.best
		t.write(out, f)
	}
}
