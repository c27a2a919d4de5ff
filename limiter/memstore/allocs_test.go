package memstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// TestNoAllocations: a decision about a known key leaves nothing to the garbage collector, allowed or refused, alone
// or in a batch.
func TestNoAllocations(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	ctx := context.Background()
	for _, algorithm := range algorithms {
		for _, charges := range []int{1, 3, 20} {
			for _, requests := range []int64{0, 1, 100_000} {
				t.Run(fmt.Sprintf("%v/charges=%d/requests=%d", algorithm, charges, requests), func(t *testing.T) {
					store := newStore(t, 0)
					batch := make([]limiter.Charge, charges)
					for i := range batch {
						batch[i] = limiter.Charge{
							Scope: "scope", Key: fmt.Sprint("key ", i/2), Cost: 1,
							Limit: limiter.Limit{
								Requests: requests, Window: time.Duration(1+i%2) * time.Hour, Algorithm: algorithm,
							},
						}
					}
					step := func() {
						if _, err := store.Take(ctx, batch); err != nil {
							t.Fatal(err)
						}
					}
					step()
					if got := testing.AllocsPerRun(1000, step); got != 0 {
						t.Errorf("got %v allocations a decision, want 0", got)
					}
				})
			}
		}
	}
}

// TestNoAllocationsOfNewcomers: nor does a decision about a key that a full store counts in a sketch.
func TestNoAllocationsOfNewcomers(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	for _, algorithm := range algorithms {
		for _, requests := range []int64{1, 100_000} {
			t.Run(fmt.Sprintf("%v/requests=%d", algorithm, requests), func(t *testing.T) {
				store := newStore(t, 1)
				l := limiter.Limit{Requests: requests, Window: time.Hour, Algorithm: algorithm}
				spend(t, store, "stays", l, requests)
				spend(t, store, "newcomer", l, 1)
				c := one("newcomer", l, 1)
				got := testing.AllocsPerRun(1000, func() {
					if _, err := store.Take(context.Background(), c[:]); err != nil {
						t.Fatal(err)
					}
				})
				if overflowed := store.Stats().Overflowed; got != 0 || overflowed < 1000 {
					t.Errorf("got %v allocations a decision, %d of them in the sketch, want none and all", got, overflowed)
				}
			})
		}
	}
}
