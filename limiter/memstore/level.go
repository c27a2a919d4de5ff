package memstore

import "github.com/httplimit/httplimit/limiter"

// A level is what a slot remembers, in 4 bits, of how its counter stood against its limit after its last charge: the
// limit itself is not stored. 0 to 11 are twelfths in use. From 12 on the counter is at its limit: the same charge
// would not have fitted again, until the first, second, third or last quarter of the time has passed in which what is
// in use decays.
const (
	atLimit  = 12
	quarters = 4
)

// levelAfter is the level after c was spent.
func levelAfter(c *limiter.Charge) uint8 {
	capacity, cost := c.Limit.Capacity(), max(1, c.Cost)
	if c.Remaining >= cost {
		return uint8((capacity - c.Remaining) * atLimit / capacity)
	}
	used := c.Current + cost
	tooMuch := max(1, used-max(0, capacity-cost)) // for the same charge to fit again
	quarter := min((tooMuch*quarters-1)/used, quarters-1)
	return uint8(atLimit + quarter)
}

// shareOf is how much of its limit a counter of that level still has in use when only left of the whole time of its
// decay is left.
func shareOf(level uint8, left, whole int64) (share float64, limited bool) {
	part := float64(left) / float64(whole)
	if level < atLimit {
		return float64(level) / atLimit * part, false
	}
	return part, 1-part < float64(level-atLimit+1)/quarters
}
