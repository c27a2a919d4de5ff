package memory_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/httplimit/httplimit/benchmarks/memory"
	"github.com/httplimit/httplimit/benchmarks/workload"
)

const (
	floodKeys = 2_000_000
	// heapKeys is where the heap per key is read: halfway through the flood, as the bound of a store is twice
	// that.
	heapKeys = floodKeys / 2
)

// BenchmarkFlood takes floodKeys new keys from one goroutine; run it with -benchtime=1x, as one flood is one iteration.
//
//	ns/op      time for each new key, in a flood of its own
//	allocs/key what it allocates meanwhile
//	worst-ns   the longest that one of them took, in another one
//	heap-B/key what the limiter keeps of each of heapKeys keys
//
// Limiters with a bound have room for all, but httplimit-bounded: its room is for a sixteenth.
func BenchmarkFlood(b *testing.B) {
	keys := workload.Addresses(floodKeys)
	subjects := memory.Subjects()
	bounded := memory.Subject{
		Name: "httplimit-bounded",
		Open: func(limit int64, window time.Duration, keys int) (func() memory.Take, error) {
			return subjects[1].Open(limit, window, keys/16)
		},
	}
	// A flood that nobody measures: else the first limiter would pay for the heap's first pages, and the others not.
	flood{b, subjects[1], keys}.pace()
	for _, s := range append(subjects, bounded) {
		b.Run("limiter="+s.Name, func(b *testing.B) {
			for b.Loop() {
				f := flood{b, s, keys}
				pace, allocations := f.pace()
				b.ReportMetric(pace, "ns/op")
				b.ReportMetric(allocations, "allocs/key")
				b.ReportMetric(f.worst(), "worst-ns")
				b.ReportMetric(f.heap(), "heap-B/key")
			}
		})
	}
}

type flood struct {
	b    *testing.B
	s    memory.Subject
	keys []string
}

func (f flood) open(window time.Duration) memory.Take {
	session, err := f.s.Open(10, window, len(f.keys))
	if err != nil {
		f.b.Fatal(err)
	}
	runtime.GC()
	return session()
}

func (f flood) check(allowed bool, err error) {
	if !allowed || err != nil {
		f.b.Fatalf("the first request of a client: got %v, %v, want it allowed", allowed, err)
	}
}

// pace tells the nanoseconds and allocations for each new key.
func (f flood) pace() (nanoseconds, allocations float64) {
	take := f.open(time.Hour)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	for _, key := range f.keys {
		f.check(take(key))
	}
	took := time.Since(began)
	runtime.ReadMemStats(&after)
	n := float64(len(f.keys))
	return float64(took) / n, float64(after.Mallocs-before.Mallocs) / n
}

// worst tells the nanoseconds of the longest operation.
func (f flood) worst() float64 {
	take := f.open(time.Hour)
	var longest time.Duration
	before := time.Now()
	for _, key := range f.keys {
		f.check(take(key))
		now := time.Now()
		longest = max(longest, now.Sub(before))
		before = now
	}
	return float64(longest)
}

// heap tells the bytes for each key. The limiter gets copies, so that those that hold on to keys pay for them.
func (f flood) heap() float64 {
	empty := inUse()
	take := f.open(time.Hour)
	for _, key := range f.keys[:heapKeys] {
		f.check(take(strings.Clone(key)))
	}
	full := inUse()
	f.check(take(f.keys[0])) // until here the limiter is reachable
	return max(0, float64(full-empty)) / heapKeys
}

func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
