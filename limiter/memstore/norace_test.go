//go:build !race

package memstore_test

const (
	raceDetector = false
	floodClients = 100_000
)
