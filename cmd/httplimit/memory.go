package main

import (
	"runtime/debug"
	"runtime/metrics"
)

const (
	// memoryEvery is after how many lines the bound on memory is set anew.
	memoryEvery = 1 << 15
	// enoughMemory is what a replay may take without a thought: that of a million clients takes more.
	enoughMemory = 400 << 20
)

// boundMemory has garbage collected sooner where the heap is large: what is alive doubles up to enoughMemory, and takes
// half as much again beyond.
func boundMemory() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if live[0].Value.Kind() == metrics.KindUint64 {
		debug.SetMemoryLimit(max(enoughMemory, int64(live[0].Value.Uint64())*3/2))
	}
}
