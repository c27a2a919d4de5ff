package memstore

import "math"

// A full store makes room in this order: what has expired leaves, wherever it is; then the live counter that has
// used the smallest part of its limit, of a few in the newcomer's own stripe; and where all of these are at their
// limit, there is no room (see sketch.go).

// reclaim sweeps stripes until there is room for that many newcomers, as long as something has expired. It holds no
// lock when it begins, and one stripe's at a time.
func (s *Store) reclaim(now int64, newcomers int) {
	credit := &s.horizon.credit
	if credit.Load() < mostCredit {
		credit.Add(creditEach)
	}
	for credit.Load() > 0 && !s.budget.fits(newcomers) {
		index, ok := s.horizon.next(now)
		if !ok {
			return
		}
		st := &s.stripes[index]
		st.mu.Lock()
		slots := st.sweep(now)
		st.mu.Unlock()
		credit.Add(-int64(slots))
	}
}

// sweep sweeps every shard in which something has expired, and returns how many slots it looked at.
func (st *stripe) sweep(now int64) (slots int) {
	now = st.time(now)
	for i := range st.shards {
		sh := &st.shards[i]
		if sh.table == nil || sh.due > now {
			continue
		}
		slots += sh.capacity
		sh.sweep(now, true)
	}
	st.publish() // also if nothing was due after all, or the horizon would name this stripe for ever
	return slots
}

// publish tells the horizon when the first of the stripe's shards is due.
func (st *stripe) publish() {
	due := int64(never)
	for i := range st.shards {
		if st.shards[i].table != nil {
			due = min(due, st.shards[i].due)
		}
	}
	st.store.horizon.dues[st.index].Store(due)
}

// room takes the budget for one more counter or entry of this shard. It may forget another counter of the stripe for
// it, so slots may move. A false answer means that all who were asked are at their limit.
func (sh *shard) room(now int64) bool {
	s := sh.stripe.store
	for !s.budget.take() {
		if s.horizon.passed(now) && s.horizon.credit.Load() > 0 {
			return false // Others were faster to what has expired; there may be more of it, so nobody alive is forgotten.
		}
		if !sh.stripe.fullest().forget(now) && !sh.forget(now) {
			return false
		}
		s.evicted.Add(1)
	}
	return true
}

// fullest is the shard with the most to give.
func (st *stripe) fullest() *shard {
	best := &st.shards[0]
	for i := range st.shards {
		if st.shards[i].held() > best.held() {
			best = &st.shards[i]
		}
	}
	return best
}

// held is what the shard has of the budget.
func (sh *shard) held() int { return max(sh.used, sh.entries.live) }

// forget removes one of the next few counters, that with the smallest share of its limit in use, if one of them is
// below its limit. Who is next goes round, in the order of secret hashes.
func (sh *shard) forget(now int64) bool {
	const few = 8
	chosen, least := -1, math.Inf(1)
	for looked, seen := 0, 0; looked < few && seen < sh.capacity; seen++ {
		n := sh.probe
		sh.probe = sh.after(n)
		if !sh.taken(n) {
			continue
		}
		looked++
		if share, atLimit := sh.share(n, now); !atLimit && share < least {
			chosen, least = n, share
		}
	}
	if chosen < 0 {
		return false
	}
	sh.remove(chosen)
	return true
}
