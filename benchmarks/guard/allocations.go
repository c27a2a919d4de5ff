package main

import (
	"errors"
	"fmt"
	"runtime/debug"
	"testing"
)

// path is a hot path and how often it may allocate.
type path struct {
	name   string
	allocs int // each time
	// open prepares the path. The operation returns an error if the answer was wrong.
	open func() (operation, error)
}

type operation func() error

// checkAllocations counts with the garbage collector off, which would empty pools.
func checkAllocations() error {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var faults []error
	for _, p := range hotPaths() {
		got, err := p.count()
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", p.name, err))
			continue
		}
		fmt.Printf("%-56s %3d allocations\n", p.name, got)
		faults = append(faults, p.judge(got))
	}
	return errors.Join(faults...)
}

func (p path) count() (int, error) {
	const runs = 500 // so that a table that grows by doubling does not show
	op, err := p.open()
	if err != nil {
		return 0, err
	}
	var wrong error
	allocs := testing.AllocsPerRun(runs, func() {
		if err := op(); err != nil {
			wrong = err
		}
	})
	debug.FreeOSMemory()
	return int(allocs), wrong
}

// judge is exact upwards. Fewer are no fault, but the next change could waste them again unseen.
func (p path) judge(got int) error {
	if got > p.allocs {
		return fmt.Errorf("%s: it allocates %d times, want %d", p.name, got, p.allocs)
	}
	if got < p.allocs {
		fmt.Printf("%-56s     lower its figure in guard/paths.go to %d, to keep what was gained\n", "", got)
	}
	return nil
}
