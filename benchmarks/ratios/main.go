// Command ratios reads what the benchmarks printed and prints Markdown tables: each figure of httplimit beside that of
// its best rival in the same run. Of several rounds it takes the median; with -best the best one of each, which is what
// is left of a machine that has other work too.
//
//	go run ./ratios [-best] results/2026-11-20.txt
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	best := flag.Bool("best", false, "take the best of all rounds, and not their median")
	flag.Parse()
	if err := run(flag.Args(), *best, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "ratios:", err)
		os.Exit(1)
	}
}

func run(files []string, best bool, out io.Writer) error {
	figures := make(figures)
	if len(files) == 0 {
		if err := figures.read(os.Stdin); err != nil {
			return err
		}
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		err = figures.read(f)
		f.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, t := range tables {
		t.best = best
		t.write(out, figures)
	}
	return nil
}
