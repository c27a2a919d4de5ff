package servers

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

// A server answers within milliseconds and a cluster agrees within seconds; the rest is for busy machines.
const (
	patience = 30 * time.Second
	interval = 5 * time.Millisecond
)

// Await returns when reached returns true, and fails the test if it does not within half a minute.
func Await(t testing.TB, what string, reached func() bool) {
	t.Helper()
	await(t, what, func() error {
		if reached() {
			return nil
		}
		return errNotReached
	})
}

var errNotReached = errors.New("not reached")

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

// await returns when step succeeds, and fails the test if it does not in time.
func await(t testing.TB, what string, step func() error) {
	t.Helper()
	err := poll(func() (bool, error) { err := step(); return err == nil, err })
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
