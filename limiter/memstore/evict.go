package memstore

import (
	"math"
	"sync/atomic"
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
