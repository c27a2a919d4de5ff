package memstore

import "github.com/httplimit/httplimit/limiter"

// What has expired leaves when a shard is swept. A sweep goes through one shard, some 4,096 keys, in about 20
// microseconds, so it needs no state of its own; going on a few slots at a time would need a cursor that survives
// growth and removals.

const (
	// sweepEvery is the least time between two sweeps of a shard by operations that need no room, in
	// milliseconds: at most about 2 % of one core for a full store of a million keys.
	sweepEvery = 1000
	// Window numbers are stored modulo 256. A shard that was not swept for half of that is swept before use, so
	// that two windows never look the same.
	tagWindows = 256
)

// plan sets when the shard is to be swept next: when something expires, not too often, and in time for its tags.
func (sh *shard) plan() {
	sh.sweepAt = max(sh.over, sh.swept+sweepEvery)
	if windowed(sh.table.algorithm) {
		number := sh.swept / sh.table.window
		sh.sweepAt = min(sh.sweepAt, (number+tagWindows/2)*sh.table.window)
	}
}

// settles notes that a counter is settled at that time.
func (sh *shard) settles(at int64) {
	if at >= sh.due {
		return
	}
	sh.due, sh.over = at, min(sh.over, at)
	sh.plan()
	sh.stripe.store.horizon.lower(sh.stripe.index, at)
}

// sweep removes what has ended, finds out when something will next, and gives memory back. A full store has settled
// counters swept too.
func (sh *shard) sweep(now int64, full bool) {
	if sh.tagsWrapped(now) {
		sh.clear()
	}
	sh.due, sh.over = never, never
	if sh.used > 0 {
		sh.sweepSlots(now, full)
	}
	if sh.crowd != nil {
		if end := sh.crowd.end(sh.table.window); end <= now {
			sh.crowd = nil
		} else {
			sh.due, sh.over = min(sh.due, end), min(sh.over, end)
		}
	}
	sh.shrink()
	sh.compact()
	sh.swept = now
	sh.plan()
	sh.stripe.publish()
}

// sweepSlots goes backwards, from a free slot round to it again: so a removal moves only counters that have been
// looked at, and a run of expired ones leaves without moving anything.
func (sh *shard) sweepSlots(now int64, full bool) {
	start := 0
	for sh.taken(start) {
		start++
	}
	for n := sh.before(start); n != start; n = sh.before(n) {
		if !sh.taken(n) || sh.table.algorithm == limiter.SlidingLog && !sh.trim(n, now) {
			continue
		}
		settled, ends := sh.settled(n, now), sh.ends(n, now)
		if ends <= now || full && settled <= now {
			sh.remove(n)
		} else {
			sh.due, sh.over = min(sh.due, settled), min(sh.over, ends)
		}
	}
}

// tagsWrapped reports whether so much time has passed since the last sweep that tags no longer tell windows apart.
// Then everything has expired: whatever came into the shard more than 128 windows after the last sweep would have
// had it swept.
func (sh *shard) tagsWrapped(now int64) bool {
	w := sh.table.window
	return windowed(sh.table.algorithm) && now/w-sh.swept/w > tagWindows-4
}

func (sh *shard) clear() {
	for n := range sh.capacity {
		if sh.taken(n) {
			sh.table.budget.give(sh.release(n))
		}
	}
	sh.slots, sh.capacity, sh.used = nil, 0, 0
}

// shrink halves the shard while it is less than 7/32 full, which is half of how full it is after doubling, so that
// it does not swing.
func (sh *shard) shrink() {
	if sh.used == 0 {
		sh.resize(0)
		return
	}
	capacity := sh.capacity
	for capacity > sh.smallest() && 32*sh.used < 7*capacity {
		capacity /= 2
	}
	if capacity != sh.capacity {
		sh.resize(capacity)
	}
}

// compact moves the entries of logs together when few of them are left.
func (sh *shard) compact() {
	if !sh.entries.sparse() {
		return
	}
	var moved arena
	for n := range sh.capacity {
		if sh.taken(n) {
			s := logSlot(sh.slot(n))
			head, tail := sh.entries.move(s.head(), &moved)
			s.set(head, tail, s.units(), s.entries())
		}
	}
	sh.entries = moved
}

// idle reports whether the shard, swept now, holds nothing.
func (sh *shard) idle(now int64) bool {
	if sh.table == nil {
		return true
	}
	sh.sweep(now, false)
	return sh.used == 0 && sh.crowd == nil
}
