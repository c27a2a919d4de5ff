package memstore

import (
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
)

// logArena holds the entries of the SlidingLogs of one shard: doubly linked lists in one slice without pointers, oldest
// first, and a list of free entries. Blocks of several entries would save half the memory of long lists and cost a
// multiple for short ones; and a refund takes from the end of a list, where blocks need a way back too.
type logArena struct {
	entries []entry // numbered from 1; number 0 stands for none
	free    uint32  // the first free one; they are linked by next
	live    int
}

// entry is what one log admitted in one millisecond: 16 bytes.
type entry struct {
	moment uint64 // time 44 (Unix milliseconds), units (high) 20
	links  uint64 // units (low) 10, previous 27, next 27
}

const linkBits = 27

func (e *entry) time() int64      { return int64(e.moment >> 20) }
func (e *entry) units() int64     { return int64(e.moment&(1<<20-1)<<10 | e.links>>(2*linkBits)) }
func (e *entry) previous() uint32 { return uint32(e.links >> linkBits & (1<<linkBits - 1)) }
func (e *entry) next() uint32     { return uint32(e.links & (1<<linkBits - 1)) }
func (e *entry) set(time, units int64) {
	e.moment = uint64(time)<<20 | uint64(units)>>10
	e.links = e.links&(1<<(2*linkBits)-1) | uint64(units)<<(2*linkBits)
}
func (e *entry) link(previous, next uint32) {
	e.links = e.links>>(2*linkBits)<<(2*linkBits) | uint64(previous)<<linkBits | uint64(next)
}

func (a *logArena) entry(number uint32) *entry { return &a.entries[number-1] }

// add appends an entry to the list that ends in tail (0: an empty one) and returns its number.
func (a *logArena) add(tail uint32, time, units int64) uint32 {
	number := a.free
	if number != 0 {
		a.free = a.entry(number).next()
	} else {
		a.entries = append(a.entries, entry{})
		number = uint32(len(a.entries))
	}
	a.live++
	a.entry(number).set(time, units)
	a.entry(number).link(tail, 0)
	if tail != 0 {
		a.entry(tail).link(a.entry(tail).previous(), number)
	}
	return number
}

// drop frees the entries from first to last, which are linked and count of them. The caller links anew those left
// beside them.
func (a *logArena) drop(first, last uint32, count int) {
	a.live -= count
	if a.live == 0 {
		*a = logArena{}
		return
	}
	a.entry(last).link(0, a.free)
	a.free = first
}

// compactLogs moves the entries of logs together when few of them are left.
func (sh *shard) compactLogs() {
	old := sh.log
	if len(old.entries) <= 64 || old.live >= len(old.entries)/4 {
		return
	}
	sh.log = logArena{}
	for n := range sh.capacity {
		if !sh.taken(n) {
			continue
		}
		s, tail := logSlot(sh.slot(n)), uint32(0)
		next := s.head()
		for range s.entries() {
			e := old.entry(next)
			tail, next = sh.log.add(tail, e.time(), e.units()), e.next()
		}
		s.set(tail-uint32(s.entries())+1, tail, s.units(), s.entries()) // they follow one another now
	}
}

// logReader finds out when the units of one SlidingLog were taken.
type logReader struct {
	arena      *logArena
	head, tail uint32
	units      int64
	newest     int64 // when all units count as taken if there is no list
}

// TakenAt goes through the list from the nearer end. A charge that did not fit asks for as many of the oldest units
// as it lacks, a refund for the newest that is left: so it takes no more steps than the charge has units.
func (r *logReader) TakenAt(n int64) int64 {
	if r.arena == nil {
		return r.newest
	}
	if after := r.units - n; after < n {
		e := r.arena.entry(r.tail)
		for after -= e.units(); after >= 0; after -= e.units() {
			e = r.arena.entry(e.previous())
		}
		return e.time()
	}
	e := r.arena.entry(r.head)
	for n -= e.units(); n > 0; n -= e.units() {
		e = r.arena.entry(e.next())
	}
	return e.time()
}

// trim drops the entries of slot number n that have left the window. Each is dropped once, which is a constant cost for
// the charge that made it. It reports false if none is left, and then the slot is gone.
func (sh *shard) trim(n int, now int64) bool {
	s, a, gone := logSlot(sh.slot(n)), &sh.log, now-sh.table.window
	if a.entry(s.tail()).time() <= gone {
		sh.remove(n)
		return false
	}
	head, units, count := s.head(), s.units(), 0
	for e := a.entry(head); e.time() <= gone; e = a.entry(head) {
		head, units, count = e.next(), units-e.units(), count+1
	}
	if count > 0 {
		a.drop(s.head(), a.entry(head).previous(), count)
		a.entry(head).link(0, a.entry(head).next())
		sh.table.budget.give(int64(count))
		s.set(head, s.tail(), units, s.entries()-count)
	}
	return true
}

// saveLog writes u to the log of hash, which is in slot number n if it was found, and returns where it is now. It
// reports false if there is no space for it.
func (sh *shard) saveLog(hash uint64, n int, found bool, u *algorithm.Usage, c *limiter.Charge) (at int, ok bool) {
	fresh := true // a new entry is needed
	if found {
		sh.takeBack(n, u.Returned)
		tail := sh.log.entry(logSlot(sh.slot(n)).tail())
		fresh = tail.time() != u.At && tail.units() > 0
	}
	if u.Spent == 0 {
		return n, found
	}
	fresh = fresh && sh.makeSpace(u.At, standsOut(u, c))
	// Making space may have moved the log, or even evicted it.
	units := u.Spent
	if n, found = sh.find(hash); !found {
		if !fresh {
			return 0, false
		}
		n = sh.insert(hash)
		units += u.Current
	}
	sh.append(n, u.At, units, fresh)
	return n, true
}

// takeBack removes the newest units. The last entry stays, if empty, so that the slot never lacks one.
func (sh *shard) takeBack(n int, units int64) {
	s, a := logSlot(sh.slot(n)), &sh.log
	for units > 0 {
		number := s.tail()
		tail := a.entry(number)
		back, before := min(units, tail.units()), tail.previous()
		units -= back
		if back < tail.units() || before == 0 {
			tail.set(tail.time(), tail.units()-back)
			s.set(s.head(), number, s.units()-back, s.entries())
			return
		}
		a.drop(number, number, 1)
		a.entry(before).link(a.entry(before).previous(), 0)
		sh.table.budget.give(1)
		s.set(s.head(), before, s.units()-back, s.entries()-1)
	}
}

// append adds units taken now, in a fresh entry or else to the newest one, which then counts as taken now: without
// space for an entry, its units stay in use longer, never shorter.
func (sh *shard) append(n int, now, units int64, fresh bool) {
	s, a := logSlot(sh.slot(n)), &sh.log
	head, tail, entries := s.head(), s.tail(), s.entries()
	if fresh {
		tail = a.add(tail, now, units)
		if head == 0 {
			head = tail
		}
		entries++
	} else {
		a.entry(tail).set(now, a.entry(tail).units()+units)
	}
	s.set(head, tail, s.units()+units, entries)
}
