package memstore

import (
	"math"
	"sync/atomic"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
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
// limit. If the counter is one that must not be lost, or if the stripe has hardly any, it looks at all of the stripe and
// some others.
func (sh *shard) makeSpace(now int64, must bool) bool {
	s := sh.stripe.store
	for !s.budget.take() {
		switch {
		case s.sweepNext(sh.stripe, now):
		case sh.stripe.fullest().evict(now, few), sh.evict(now, few):
			s.evicted.Add(1)
		case (must || sh.stripe.fullest().held() < few) && sh.stripe.evictSomewhere(now):
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

// standsOut reports whether a batch has spent more of a counter, by force, than its limit allows at once: then it is
// there to refuse whatever comes for a time, as a ban does. In the sketch it would be as good as lost.
func standsOut(u *algorithm.Usage, c *limiter.Charge) bool {
	return c.Mode == limiter.Force && u.Spent > c.Limit.Capacity()
}

// evictSomewhere removes a counter that is below its limit: of the stripe, which the caller holds, or of those that
// come next and are not locked.
func (st *stripe) evictSomewhere(now int64) bool {
	if st.evictAny(now) {
		return true
	}
	stripes := st.store.stripes
	for i := range min(stripesAhead, len(stripes)-1) {
		next := &stripes[(st.index+1+i)%len(stripes)]
		if !next.mu.TryLock() {
			continue
		}
		found := next.evictAny(next.advance(now))
		next.mu.Unlock()
		if found {
			return true
		}
	}
	return false
}

// evictAny removes a counter of the stripe that is below its limit, if there is one. Where there was none it does not
// look again for some time, because it looks at thousands.
func (st *stripe) evictAny(now int64) bool {
	if now < st.evictAt {
		return false
	}
	for i := range st.shards {
		if sh := &st.shards[i]; sh.table != nil && sh.evict(now, sh.capacity) {
			return true
		}
	}
	st.evictAt = now + sweepEvery
	return false
}

// few is how many counters a newcomer looks at.
const few = 8

// evict removes one of the next counters, so many, that with the smallest share of its limit in use, if one of them is
// below its limit. It goes round the shard, in the order of secret hashes.
func (sh *shard) evict(now int64, most int) bool {
	chosen, least := -1, math.Inf(1)
	for looked, seen := 0, 0; looked < most && seen < sh.capacity; seen++ {
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
