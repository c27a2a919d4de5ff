package algorithm_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/internal/window"
)

func TestWindowDecidesAsUsageDoes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	count := func() int64 { return random.Int64N(1 << random.IntN(31)) } // small and large ones
	for _, kind := range []limiter.Algorithm{limiter.SlidingWindow, limiter.FixedWindow} {
		t.Run(kind.String(), func(t *testing.T) {
			for range 100_000 {
				length := 1 + random.Int64N(1<<random.IntN(34))
				l := limiter.Limit{
					Requests: 1 + min(count(), 999_999_999), Window: time.Duration(length) * time.Millisecond, Algorithm: kind,
				}
				number, elapsed := 7+random.Int64N(1000), random.Int64N(length)
				u := windowUsage(l, number*length+elapsed, number, count(), count())
				w := window.Counts{Current: u.Current, Previous: u.Previous, Left: length - elapsed, Length: length}

				got := limiter.Charge{Limit: l, Cost: 1 + count(), State: limiter.State{At: u.At}}
				want := got
				got.Current, got.Previous = w.Current, w.Previous
				got.Decision = w.Decide(&l, got.Cost, w.Remaining(l.Requests))
				if fits := u.Judge(&want); fits != want.Allowed || got != want {
					t.Fatalf("got  %+v\nwant %+v", got, want)
				}
			}
		})
	}
}
