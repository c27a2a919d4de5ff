package replay

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// waits counts what Retry-After tells, which is whole seconds, rounded up.
type waits struct {
	seconds map[int64]int64
	n       int64
}

const neverSeconds = math.MaxInt64

func (w *waits) add(d time.Duration) {
	if w.seconds == nil {
		w.seconds = map[int64]int64{}
	}
	seconds := int64(neverSeconds)
	if d != limiter.Never {
		seconds = ceilDiv(int64(d/time.Millisecond), 1000)
	}
	w.seconds[seconds]++
	w.n++
}

// quantiles returns, for each share, the smallest wait that so large a share of the waits is not above.
func (w *waits) quantiles(shares ...float64) []time.Duration {
	all := make([]time.Duration, len(shares))
	if w.n == 0 {
		return all
	}
	sorted := slices.Sorted(maps.Keys(w.seconds))
	for i, share := range shares {
		rank, seen := int64(math.Ceil(share*float64(w.n))), int64(0)
		for _, seconds := range sorted {
			if seen += w.seconds[seconds]; seen >= rank {
				if all[i] = limiter.Never; seconds != neverSeconds {
					all[i] = time.Duration(seconds) * time.Second
				}
				break
			}
		}
	}
	return all
}
