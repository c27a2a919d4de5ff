//go:build race

package memstore_test

// The race detector makes a sync.Pool drop things at random, so allocations mean nothing under it. It is also slow, so
// floods from one goroutine are shorter, three times as large as the store.
const (
	raceDetector = true
	floodClients = 50_000
)
