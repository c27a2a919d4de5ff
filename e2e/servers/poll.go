package servers

import (
	"fmt"
	"testing"
	"time"
)

// A server answers within milliseconds and a cluster agrees within seconds; the rest is for busy machines.
const (
	patience = 30 * time.Second
	interval = 10 * time.Millisecond
)

// poll calls step until it is done, and then returns its error. Once patience has run out it returns the last one.
func poll(step func() (done bool, err error)) error {
	for deadline := time.Now().Add(patience); ; time.Sleep(interval) {
		done, err := step()
		if done {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not ready after %v: %w", patience, err)
		}
	}
}

// await fails the test unless step succeeds in time.
func await(t testing.TB, what string, step func() error) {
	t.Helper()
	err := poll(func() (bool, error) { err := step(); return err == nil, err })
	if err != nil {
		t.Fatalf("servers: %s: %v", what, err)
	}
}
