package memory_test

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/httplimit/httplimit/benchmarks/memory"
	"github.com/httplimit/httplimit/benchmarks/workload"
)

var (
	expired = flag.String("expired", "", "which limiter BenchmarkExpired measures in this process; empty: each in its own")
	use     = flag.Duration("use", time.Minute, "how long clients go on asking in BenchmarkExpired")
)

const (
	// expiredWindow is short: a limiter that forgets during the flood has less when it is over.
	expiredWindow = 10 * time.Second
	// fewClients are left of floodKeys, and ask each askEvery.
	fewClients = 10
	askEvery   = 100 * time.Millisecond
)

// BenchmarkExpired tells what becomes of the memory when a flood is over and a few clients are left. Most of its time
// passes, so it starts a process for each limiter, all at once.
//
//	full-MB what the limiter has of the heap when floodKeys clients have come
//	left-MB what is left of that when their windows are over and few clients have asked for as long as -use says
func BenchmarkExpired(b *testing.B) {
	if *expired == "" {
		measureExpired(b)
		return
	}
	for _, s := range memory.Subjects() {
		if s.Name != *expired {
			continue
		}
		b.Run("limiter="+s.Name, func(b *testing.B) {
			for b.Loop() {
				full, left := floodThenFew(b, s)
				b.ReportMetric(full/1e6, "full-MB")
				b.ReportMetric(left/1e6, "left-MB")
			}
		})
	}
}

// measureExpired runs this benchmark once for each limiter and prints what they print.
func measureExpired(b *testing.B) {
	var wait sync.WaitGroup
	var mu sync.Mutex
	for _, s := range memory.Subjects() {
		wait.Go(func() {
			args := []string{"-test.run=^$", "-test.bench=^BenchmarkExpired$", "-test.benchtime=1x"}
			out, err := exec.Command(os.Args[0], append(args, "-expired="+s.Name, "-use="+use.String())...).CombinedOutput()
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				b.Errorf("%s: %v\n%s", s.Name, err, out)
			}
			for line := range bytes.Lines(out) {
				if bytes.HasPrefix(line, []byte("Benchmark")) {
					_, _ = os.Stdout.Write(line)
				}
			}
		})
	}
	wait.Wait()
}

func floodThenFew(b *testing.B, s memory.Subject) (full, left float64) {
	empty := inUse()
	session, err := s.Open(1_000_000, expiredWindow, floodKeys)
	if err != nil {
		b.Fatal(err)
	}
	take := session()
	ask := func(client int) {
		if allowed, err := take(workload.Address(client)); !allowed || err != nil {
			b.Fatalf("client %d: got %v, %v, want it allowed", client, allowed, err)
		}
	}
	for client := range floodKeys {
		ask(client)
	}
	full = float64(inUse() - empty)
	time.Sleep(2*expiredWindow + expiredWindow/4)
	for ends := time.Now().Add(*use); time.Now().Before(ends); time.Sleep(askEvery) {
		for client := range fewClients {
			ask(client)
		}
	}
	left = float64(inUse() - empty)
	ask(0) // until here the limiter is reachable
	return max(0, full), max(0, left)
}
