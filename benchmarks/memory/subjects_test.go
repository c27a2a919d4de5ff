package memory_test

import (
	"testing"

	"github.com/httplimit/httplimit/benchmarks/memory"
	"github.com/httplimit/httplimit/benchmarks/workload"
)

// TestSubjects shows that what is compared does the same: of each key exactly as many as its limit.
func TestSubjects(t *testing.T) {
	for _, s := range memory.Subjects()[1:] {
		t.Run("limiter="+s.Name, func(t *testing.T) {
			t.Parallel()
			const limit, keys = 7, 100
			session, err := s.Open(limit, workload.Window, 2*keys)
			if err != nil {
				t.Fatal(err)
			}
			take := session()
			for _, key := range workload.Addresses(keys) {
				allowed := 0
				for range 2 * limit {
					ok, err := take(key)
					if err != nil {
						t.Fatal(err)
					}
					if ok {
						allowed++
					}
				}
				if allowed != limit {
					t.Errorf("%s was allowed %d of %d requests, want %d", key, allowed, 2*limit, limit)
				}
			}
		})
	}
}
