package faults_test

import (
	"runtime"
	"testing"
)

// atRest returns the number of goroutines when nobody asks, but for those of the proxy.
func (s *service) atRest(t *testing.T, r *rig) int {
	t.Helper()
	s.ask("none", "nobody") // leaves what a server and a client keep
	last, same := 0, 0
	await(t, "goroutines come to rest", func() bool {
		if n := s.goroutines(r); n != last {
			last, same = n, 0
		}
		same++
		return same > 20
	})
	return last
}

func (s *service) goroutines(r *rig) int {
	s.client.CloseIdleConnections()
	if r.proxy == nil {
		return runtime.NumGoroutine()
	}
	const each = 2 // of the proxy's, for a connection
	return runtime.NumGoroutine() - each*r.proxy.Open()
}

// checkRest checks that nothing is left of the fault.
func (s *service) checkRest(t *testing.T, r *rig, rest int) {
	t.Helper()
	await(t, "goroutines are as many as before", func() bool { return s.goroutines(r) <= rest })
	await(t, "connections are no more than the client keeps, and none is in use", r.idle)
	r.close()
	if r.proxy != nil {
		await(t, "all connections are closed", func() bool {
			runtime.GC() // go-redis 9.19 drops a connection whose handshake failed without closing it; its finalizer does
			return r.proxy.Open() == 0
		})
	}
}
