//go:build !race

package algorithm_test

const defaultStreams = 1_000_000
