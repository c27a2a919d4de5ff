package memstore

import (
	"math"
	"math/bits"
	"sync/atomic"

	"github.com/httplimit/httplimit/limiter"
)

// budget is the bound on what the tables of a store hold together. Only counters that come and go touch it.
type budget struct {
	most int64
	_    [64]byte // every charge reads what lies before, and a flood writes what follows: cache lines apart
	used atomic.Int64
}

// take asks for space for one counter, or for one entry of a SlidingLog.
func (b *budget) take() bool {
	if b.used.Add(1) <= b.most {
		return true
	}
	b.used.Add(-1)
	return false
}

func (b *budget) give(n int64) { b.used.Add(-n) }

// makeSpace takes the budget for one more counter or entry of this shard. A full store sweeps for it, and then evicts
// another counter of the stripe, so slots may move. It reports false if all counters that it looked at are at their
// limit.
func (sh *shard) makeSpace(now int64) bool {
	s := sh.stripe.store
	for !s.budget.take() {
		switch {
		case s.sweepNext(sh.stripe, now):
		case sh.stripe.fullest().evict(now) || sh.evict(now):
			s.evicted.Add(1)
		default:
			return false
		}
	}
	return true
}

// fullest returns the shard that holds the most of the budget.
func (st *stripe) fullest() *shard {
	best := &st.shards[0]
	for i := range st.shards {
		if st.shards[i].held() > best.held() {
			best = &st.shards[i]
		}
	}
	return best
}

// held returns what the shard has of the budget.
func (sh *shard) held() int { return max(sh.used, sh.log.live) }

// evict removes one of the next few counters, that with the smallest share of its limit in use, if one of them is
// below its limit. It goes round the shard, in the order of secret hashes.
func (sh *shard) evict(now int64) bool {
	const few = 8
	chosen, least := -1, math.Inf(1)
	for looked, seen := 0, 0; looked < few && seen < sh.capacity; seen++ {
		n := sh.evictNext
		sh.evictNext = sh.after(n)
		if !sh.taken(n) {
			continue
		}
		looked++
		if share, limited := sh.share(n, now); !limited && share < least {
			chosen, least = n, share
		}
	}
	if chosen >= 0 {
		sh.remove(chosen)
	}
	return chosen >= 0
}

// A usage class is what a slot remembers, in 4 bits, of how its counter stood against its limit after its last charge:
// the limit itself is not stored. Classes 0 to 11 are powers of two: the counter uses about one part in 2^(11-class)
// of its limit. That takes no division on the hot path, and is finest for counters that have hardly begun. From 12
// on the counter is at its limit: the same charge would not fit again, until the first, second, third or last quarter
// of the time has passed in which what is in use decays.
const (
	lastBelow = 11
	quarters  = 4
)

// usageClass returns the class after c was spent.
func usageClass(c *limiter.Charge) uint8 {
	capacity, cost := c.Limit.Capacity(), min(max(1, c.Cost), limiter.MaxCount)
	if c.Remaining >= cost {
		halvings := bits.Len64(uint64(capacity)) - bits.Len64(uint64(capacity-c.Remaining))
		return uint8(max(0, lastBelow-halvings))
	}
	used := c.Current + cost
	excess := max(1, used-max(0, capacity-cost)) // for the same charge to fit again
	quarter := min((excess*quarters-1)/used, quarters-1)
	return uint8(lastBelow + 1 + quarter)
}

// classShare returns how much of its limit a counter of that class has in use, and whether it is at its limit, when
// left of the whole time of its decay is left.
func classShare(class uint8, left, whole int64) (share float64, limited bool) {
	part := float64(left) / float64(whole)
	if class <= lastBelow {
		return math.Ldexp(part, int(class)-lastBelow), false
	}
	return part, 1-part < float64(class-lastBelow)/quarters
}
