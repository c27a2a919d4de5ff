package faults_test

import (
	"bytes"
	"fmt"
	"runtime"
	"runtime/pprof"
	"testing"

	"github.com/httplimit/httplimit/e2e/servers"
)

// atRest returns the number of the row's goroutines while no request is sent, without those of the proxy.
func (s *service) atRest(t *testing.T, r *rig) int {
	t.Helper()
	s.ask("none", "none") // leaves the goroutines that a server and a client keep
	last, same := 0, 0
	servers.Await(t, "goroutines come to rest", func() bool {
		if n := s.goroutines(t, r); n != last {
			last, same = n, 0
		}
		same++
		return same > 8
	})
	return last
}

// goroutines returns how many goroutines carry the row's label, without those of the proxy.
func (s *service) goroutines(t *testing.T, r *rig) int {
	t.Helper()
	s.client.CloseIdleConnections()
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		t.Fatal(err)
	}
	// Goroutines with the same stack and label are one entry: a line "2 @ 0x...", then one with the label.
	label := fmt.Appendf(nil, "# labels: {%q:%q}", rowLabel, t.Name())
	count, entry := 0, 0
	for line := range bytes.Lines(profile.Bytes()) {
		if n, _ := fmt.Sscanf(string(line), "%d @", &entry); n == 1 {
			continue
		}
		if bytes.HasPrefix(line, label) {
			count += entry
		}
	}
	if r.proxy != nil {
		const each = 2 // of the proxy's, for a connection
		count -= each * r.proxy.Open()
	}
	return count
}

// checkRest checks that nothing is left of the fault.
func (s *service) checkRest(t *testing.T, r *rig, rest int) {
	t.Helper()
	servers.Await(t, "goroutines are as many as before", func() bool { return s.goroutines(t, r) <= rest })
	servers.Await(t, "connections are no more than the client keeps, and none is in use", r.idle)
	r.close()
	if r.proxy != nil {
		servers.Await(t, "all connections are closed", func() bool {
			runtime.GC() // go-redis 9.19 drops a connection whose handshake failed without closing it; its finalizer does
			return r.proxy.Open() == 0
		})
	}
}
