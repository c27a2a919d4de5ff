package main

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/httplimit/httplimit/benchmarks/workload"
)

// TestSubjects shows that what is compared does the same: of each key exactly as many as its limit.
func TestSubjects(t *testing.T) {
	for _, b := range backends() {
		for _, s := range b.subjects {
			if s.name == "none" || s.name == "grouped-incr" { // they limit nobody
				continue
			}
			t.Run("server="+b.name+"/limiter="+s.name, func(t *testing.T) {
				testSubject(t, b, s)
			})
		}
	}
}

func testSubject(t *testing.T, b backend, s subject) {
	binary := map[string]string{"redis": "redis-server", "memcached": "memcached"}[b.name]
	if _, err := exec.LookPath(binary); err != nil {
		if os.Getenv("HTTPLIMIT_SERVERS") == "required" {
			t.Fatalf("HTTPLIMIT_SERVERS is required: %v", err)
		}
		t.Skipf("no %s on this machine: %v", binary, err)
	}
	server, err := b.start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.stop)
	const limit = 5
	limiter, err := s.open(server.addr, limit, workload.Window)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(limiter.close)
	take := limiter.session()
	for _, key := range workload.Addresses(20) {
		admitted := 0
		for range 2 * limit {
			ok, err := take(context.Background(), key)
			if err != nil {
				t.Fatal(err)
			}
			if ok {
				admitted++
			}
		}
		if admitted != limit {
			t.Errorf("%s was allowed %d of %d requests, want %d", key, admitted, 2*limit, limit)
		}
	}
}
