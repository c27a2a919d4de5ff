package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/httplimit/httplimit/benchmarks/workload"
)

// TestSubjects shows that what is compared does the same: of each key exactly as many as its limit, and all where it
// says that it refuses nobody.
func TestSubjects(t *testing.T) {
	for _, table := range tables() {
		for _, s := range table.subjects {
			t.Run(s.called(table.name), func(t *testing.T) {
				t.Parallel()
				testSubject(t, table, s)
			})
		}
	}
}

func testSubject(t *testing.T, table table, s subject) {
	binary := "redis-server"
	if strings.HasSuffix(table.name, "memcached") {
		binary = "memcached"
	}
	if _, err := exec.LookPath(binary); err != nil {
		if os.Getenv("HTTPLIMIT_SERVERS") == "required" {
			t.Fatalf("HTTPLIMIT_SERVERS is required: %v", err)
		}
		t.Skipf("no %s on this machine: %v", binary, err)
	}
	server, err := table.start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	limiter, err := s.open(server.Addr, limit, window)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(limiter.close)
	want := limit
	if s.kind == floor || s.kind == counts {
		want = 2 * limit
	}
	take := limiter.session()
	for _, key := range workload.Addresses(20) {
		if admitted := admit(t, take, key); admitted != want {
			t.Errorf("%s was allowed %d of %d requests, want %d", key, admitted, 2*limit, want)
		}
	}
}

const (
	limit = 5
	// window is the longest of which the sets of rules can have multiples.
	window = 6 * time.Hour
	// shortest is the window that begins most often of all rules.
	shortest = window / 60
)

// admit asks for twice the limit within one of the shortest windows, and returns how many requests were allowed.
func admit(t *testing.T, take take, key string) int {
	t.Helper()
	for attempt := 0; ; attempt++ {
		began, admitted := time.Now().Truncate(shortest), 0
		for range 2 * limit {
			ok, err := take(context.Background(), fmt.Sprint(key, "-", attempt))
			if err != nil {
				t.Fatal(err)
			}
			if ok {
				admitted++
			}
		}
		if time.Now().Truncate(shortest).Equal(began) {
			return admitted
		}
	}
}
