package workload

import (
	"sync/atomic"
	"testing"
)

// Run measures an operation on all threads, and fails unless each answer is right. Each goroutine begins with session;
// its operations are numbered, from far apart for each goroutine.
//
// Besides ns/op it reports cpu-ns/op, the time on all processors together. What the garbage collector does beside is in
// it, and what other processes do is not.
func Run(b *testing.B, session func() func(i int) (right bool)) {
	b.Helper()
	var goroutines, wrong atomic.Int64
	b.ReportAllocs()
	before, err := CPU()
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		operation, bad := session(), int64(0)
		for i := int(goroutines.Add(1)) * (Visits / 3); pb.Next(); i++ {
			if !operation(i) {
				bad++
			}
		}
		wrong.Add(bad)
	})
	b.StopTimer()
	after, err := CPU()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(after-before)/float64(b.N), "cpu-ns/op")
	if n := wrong.Load(); n > 0 {
		b.Errorf("%d of %d answers were wrong", n, b.N)
	}
}
