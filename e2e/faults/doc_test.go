// Package faults_test shows what clients see while a store is down, slow or wrong: real servers, real requests that
// flow before, during and after each fault. The table in docs/outages.md has one line for each of the rows here.
//
// Bounds of time are multiples of the store's time-out, which is long beside the noise of a busy machine.
package faults_test

import "time"

const (
	// timeout is how long a decision may take.
	timeout = 500 * time.Millisecond

	// patience is how long the tests wait for what has to come. It only counts when something is wrong.
	patience = 30 * time.Second
)
