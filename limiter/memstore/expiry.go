package memstore

import "sync/atomic"

// A counter is idle once it no longer weighs on any decision, and ended once nothing is left of it, not even what a
// State would show. Ended counters leave when their shard is swept, by whichever operation finds that this is due: one
// of a key in the shard, or, once a second, one of a key elsewhere, so that few keys are enough for the whole store. A
// sweep goes through one shard, some 4,096 keys, in about 20 microseconds. Going on a few slots at a time would need a
// cursor that survives growth and removals. Only a full store looks for idle counters, in the stripes that come next.

const (
	// sweepEvery is the least time between two sweeps of a shard by operations that need no space, in
	// milliseconds: at most about 2 % of one core for a full store of a million keys.
	sweepEvery = 1000
	// othersAhead and mostOthers bound what an operation does for other stripes: to look at so many, and to sweep no
	// more of them once it has been through so many slots, in a tenth of a millisecond or two.
	othersAhead = 64
	mostOthers  = 1 << 15
	// stripesAhead is in how many stripes a newcomer to a full store looks for idle counters. Each holds 16 or
	// more counters then, so if a tenth of all is idle, at most one search in 300,000 finds none.
	stripesAhead = 8
	// mostCredit bounds what one newcomer may sweep, in slots: about one millisecond.
	mostCredit = 1 << 18
	// creditEach is what each search in a full store adds to the slots that may be swept. Where sweeps cost more,
	// because fewer than one counter in 50 is idle, newcomers take the place of live counters instead.
	creditEach = 64
	// tagWindows is how many windows, or parts of a StrictWindow, have tags of their own. A shard that was not swept for
	// half of them is swept before use, so that two windows never look the same.
	tagWindows = 256
)

// sweepNext sweeps the next stripe that may hold idle counters, and reports whether there was one. The caller holds
// the lock of its own stripe, or own is nil. Stripes that are locked are passed over, so there is nothing to wait for.
func (s *Store) sweepNext(own *stripe, now int64) bool {
	if s.credit.Load() < mostCredit {
		s.credit.Add(creditEach)
	}
	from := s.hand.Load()
	for i := uint64(0); i < stripesAhead && s.credit.Load() > 0; i++ {
		st := &s.stripes[(from+i)&uint64(len(s.stripes)-1)]
		if st.idleAt.Load() > now || st != own && !st.mu.TryLock() {
			continue
		}
		s.hand.Store(from + i + 1)
		s.credit.Add(-int64(st.sweepIdle(now)))
		if st != own {
			st.mu.Unlock()
		}
		return true
	}
	s.hand.Store(from + stripesAhead)
	return false
}

// sweepOthers sweeps some of the stripes that are due. Those that are locked are passed over, the caller's own too.
func (s *Store) sweepOthers(now int64) {
	slots := 0
	for range min(othersAhead, len(s.stripes)) {
		st := &s.stripes[s.others.Add(1)&uint64(len(s.stripes)-1)]
		if st.sweepAt.Load() > now || !st.mu.TryLock() {
			continue
		}
		slots += st.sweepDue(now)
		st.mu.Unlock()
		if slots >= mostOthers {
			return
		}
	}
}

// sweepDue sweeps the shards of a stripe that are due, and returns how many slots it looked at.
func (st *stripe) sweepDue(now int64) (slots int) {
	now = st.advance(now)
	for i := range st.shards {
		if sh := &st.shards[i]; sh.table != nil && sh.sweepAt <= now {
			slots += sh.capacity
			sh.sweep(now, false)
		}
	}
	return slots
}

// sweepIdle removes the idle counters of a stripe, and returns how many slots it looked at, at least 1.
func (st *stripe) sweepIdle(now int64) (slots int) {
	now = st.advance(now)
	for i := range st.shards {
		if sh := &st.shards[i]; sh.table != nil && sh.idleAt <= now {
			slots += sh.capacity
			sh.sweep(now, true)
		}
	}
	return slots + 1
}

// noteIdle notes that a counter will be idle at that time.
func (sh *shard) noteIdle(at int64) {
	if at >= sh.idleAt {
		return
	}
	sh.idleAt = at
	sh.sweepAt = min(sh.sweepAt, max(at, sh.swept+sweepEvery))
	sh.lookAt = min(sh.lookAt, sh.sweepAt)
	lower(&sh.stripe.idleAt, at)
	lower(&sh.stripe.sweepAt, sh.sweepAt)
}

// lower sets t, which the caller alone writes, to at if that is earlier.
func lower(t *atomic.Int64, at int64) {
	if at < t.Load() {
		t.Store(at)
	}
}

// sweep removes what has ended and, if the store is full, the idle counters too; it finds out when to sweep next, and
// gives memory back.
func (sh *shard) sweep(now int64, full bool) {
	// More than 128 windows after a sweep a shard is swept before it takes anything: so if its tags no longer tell
	// windows apart, all that it holds has ended.
	if w := sh.table.unit; sh.table.tagged && now/w-sh.swept/w > tagWindows-4 {
		sh.table.budget.give(int64(sh.used)) // tagged: a slot each
		sh.slots, sh.tails, sh.capacity, sh.used = nil, nil, 0, 0
	}
	idleAt, endsAt := int64(never), int64(never)
	if sh.used > 0 {
		idleAt, endsAt = sh.sweepSlots(now, full)
	}
	if k := sh.overflow; k != nil && k.end(sh.table.window) <= now {
		sh.overflow = nil
	} else if k != nil {
		idleAt, endsAt = min(idleAt, k.end(sh.table.window)), min(endsAt, k.end(sh.table.window))
	}
	sh.shrink()
	sh.compactLogs()
	sh.plan(now, idleAt, endsAt)
}

// plan sets when a shard that was just swept is to be swept next: when something ends, not too often, and in time for
// its tags.
func (sh *shard) plan(now, idleAt, endsAt int64) {
	sh.swept, sh.idleAt, sh.sweepAt = now, idleAt, max(endsAt, now+sweepEvery)
	if w := sh.table.unit; sh.table.tagged {
		sh.sweepAt = min(sh.sweepAt, (now/w+tagWindows/2)*w)
	}
	sh.lookAt = min(sh.sweepAt, now+sweepEvery)
	sh.stripe.plan()
}

// plan notes when the first of the shards has something idle, and when the first is to be swept.
func (st *stripe) plan() {
	idleAt, sweepAt := int64(never), int64(never)
	for i := range st.shards {
		if sh := &st.shards[i]; sh.table != nil {
			idleAt, sweepAt = min(idleAt, sh.idleAt), min(sweepAt, sh.sweepAt)
		}
	}
	st.idleAt.Store(idleAt)
	st.sweepAt.Store(sweepAt)
}

// sweepSlots returns when the first of the counters that it leaves will be idle, and when the first will have ended. It
// starts at a free slot and walks the ring backwards to it: so a removal moves only counters that have been looked at,
// and a run of expired ones leaves without moving anything.
func (sh *shard) sweepSlots(now int64, full bool) (idleAt, endsAt int64) {
	idleAt, endsAt = never, never
	start := 0
	for sh.taken(start) {
		start++
	}
	for seen := 1; seen < sh.capacity; seen++ {
		n := start - seen
		if n < 0 {
			n += sh.capacity
		}
		if !sh.taken(n) || !sh.holds(n, now) {
			continue
		}
		idle, end := sh.expires(n, now)
		if end <= now || full && idle <= now {
			sh.remove(n)
		} else {
			idleAt, endsAt = min(idleAt, idle), min(endsAt, end)
		}
	}
	return idleAt, endsAt
}

// shrink halves the shard while it is less than 7/32 full, which is half of how full it is after doubling, so that
// it does not swing.
func (sh *shard) shrink() {
	capacity := sh.capacity
	for capacity > sh.smallest() && 32*sh.used < 7*capacity {
		capacity /= 2
	}
	if sh.used == 0 {
		capacity = 0
	}
	if capacity != sh.capacity {
		sh.resize(capacity)
	}
}
