//go:build race

package memstore_test

// The race detector makes a sync.Pool drop things at random, so allocations mean nothing under it. It is also slow.
const raceDetector = true
