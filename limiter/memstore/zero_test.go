package memstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// A deny list may be hit by many clients: they take no memory, and the place of nobody.
func TestLimitOfZeroTakesNoMemory(t *testing.T) {
	store := newStore(t, 16)
	take := func(key string, l limiter.Limit) limiter.Charge {
		t.Helper()
		batch := []limiter.Charge{{Key: key, Limit: l, Cost: 1}}
		if _, err := store.Take(context.Background(), batch); err != nil {
			t.Fatal(err)
		}
		return batch[0]
	}
	for _, algorithm := range algorithms {
		five := limiter.Limit{Requests: 5, Window: 24 * time.Hour, Algorithm: algorithm}
		zero := five
		zero.Requests = 0
		take("honest", five)
		for i := range 1000 {
			if got := take(fmt.Sprint("banned ", i), zero); got.Allowed || !got.Cached {
				t.Fatalf("%v: client %d of a deny list: got %+v, cached %t, want it refused from memory", algorithm, i,
					got.Decision, got.Cached)
			}
		}
		if got := take("honest", five); got.Remaining != 3 {
			t.Errorf("%v: the second of 5 after that: got %+v, want 3 remaining", algorithm, got.Decision)
		}
	}
}
