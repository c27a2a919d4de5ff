//go:build race

package algorithm_test

// The race detector finds nothing in arithmetic, and makes it ten times slower.
const defaultStreams = 30_000
