//go:build !race

package memstore_test

const raceDetector = false
