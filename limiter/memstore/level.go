package memstore

import (
	"math"
	"math/bits"

	"github.com/httplimit/httplimit/limiter"
)

// A level is what a slot remembers, in 4 bits, of how its counter stood against its limit after its last charge: the
// limit itself is not stored. Levels 0 to 11 are powers of two: the counter uses about one part in 2^(11-level) of
// its limit. That takes no division on the hot path, and tells best apart those who have hardly begun. From 12 on it
// is at its limit: the same charge would not fit again, until the first, second, third or last quarter of the time
// has passed in which what is in use decays.
const (
	lastBelow = 11
	quarters  = 4
)

// levelAfter is the level after c was spent.
func levelAfter(c *limiter.Charge) uint8 {
	capacity, cost := c.Limit.Capacity(), min(max(1, c.Cost), limiter.MaxCount)
	if c.Remaining >= cost {
		halvings := bits.Len64(uint64(capacity)) - bits.Len64(uint64(capacity-c.Remaining))
		return uint8(max(0, lastBelow-halvings))
	}
	used := c.Current + cost
	tooMuch := max(1, used-max(0, capacity-cost)) // for the same charge to fit again
	quarter := min((tooMuch*quarters-1)/used, quarters-1)
	return uint8(lastBelow + 1 + quarter)
}

// shareOf is how much of its limit a counter of that level has in use when left of the whole time of its decay is
// left.
func shareOf(level uint8, left, whole int64) (share float64, limited bool) {
	part := float64(left) / float64(whole)
	if level <= lastBelow {
		return math.Ldexp(part, int(level)-lastBelow), false
	}
	return part, 1-part < float64(level-lastBelow)/quarters
}
