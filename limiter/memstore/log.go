package memstore

import "github.com/httplimit/httplimit/limiter/algorithm"

// logSlot is the slot of a SlidingLog: the ends of its list, the units in it, and how many entries they are.
type logSlot []uint64

func (s logSlot) head() uint32 { return uint32(s[1] >> 32) }
func (s logSlot) tail() uint32 { return uint32(s[1]) }
func (s logSlot) units() int64 { return int64(s[2] >> 32) }
func (s logSlot) entries() int { return int(uint32(s[2])) }
func (s logSlot) set(head, tail uint32, units int64, entries int) {
	s[1] = uint64(head)<<32 | uint64(tail)
	s[2] = uint64(units)<<32 | uint64(entries)
}

// trim drops the entries of slot number n that have left the window, so that what it holds is in use. Each is
// dropped once, which is a constant cost for the charge that made it. It reports false if none is left, and then the
// slot is gone.
func (sh *shard) trim(n int, now int64) bool {
	s, a, gone := logSlot(sh.slot(n)), &sh.entries, now-sh.table.window
	if a.time(s.tail()) <= gone {
		sh.remove(n)
		return false
	}
	head, units, count := s.head(), s.units(), 0
	for ; a.time(head) <= gone; head = a.next(head) {
		units -= a.units(head)
		count++
	}
	if count > 0 {
		a.drop(s.head(), a.previous(head), count)
		a.link(head, 0, a.next(head))
		sh.table.budget.give(int64(count))
		s.set(head, s.tail(), units, s.entries()-count)
	}
	return true
}

func (sh *shard) loadLog(u *algorithm.Usage, n int, now int64, r *logReader) {
	s := logSlot(sh.slot(n))
	*r = logReader{arena: &sh.entries, head: s.head(), tail: s.tail(), units: s.units()}
	u.LoadLog(now, s.units(), sh.entries.time(s.tail()), r)
}

// saveLog writes u to the log of hash, which is in slot number n if it was found, and returns where it is now. It is
// nowhere if there is no room.
func (sh *shard) saveLog(hash uint64, found bool, n int, u *algorithm.Usage) (at int, ok bool) {
	rooms := 0
	for need := sh.entriesFor(n, found, u); rooms < need && sh.room(u.At); {
		rooms++
	}
	// Making room may have moved the log, or even forgotten it.
	spent := u.Spent
	if n, found = sh.find(hash); !found {
		if rooms == 0 {
			sh.addToCrowd(hash, u)
			return 0, false
		}
		n = sh.insert(hash)
		spent += u.Current
		sh.begin(n, u.At)
		rooms--
	} else {
		sh.takeBack(n, u.Returned)
	}
	rooms -= sh.append(n, u.At, spent, rooms)
	sh.table.budget.give(int64(rooms))
	return n, true
}

// entriesFor is how many more entries it takes to write u down.
func (sh *shard) entriesFor(n int, found bool, u *algorithm.Usage) int {
	units, free := u.Spent, int64(0)
	if !found {
		units += u.Current
	} else if tail := logSlot(sh.slot(n)).tail(); sh.entries.time(tail) == u.At {
		free = mostUnits - sh.entries.units(tail)
	}
	return int((max(0, units-free) + mostUnits - 1) / mostUnits)
}

// begin makes slot number n a log with one entry that is still empty.
func (sh *shard) begin(n int, now int64) {
	node := sh.entries.add(0, now, 0)
	logSlot(sh.slot(n)).set(node, node, 0, 1)
}

// takeBack removes the newest units. The last entry stays, if empty, so that the slot never lacks one.
func (sh *shard) takeBack(n int, units int64) {
	s, a := logSlot(sh.slot(n)), &sh.entries
	for units > 0 {
		tail := s.tail()
		back, before := min(units, a.units(tail)), a.previous(tail)
		units -= back
		if back < a.units(tail) || before == 0 {
			a.set(tail, a.time(tail), a.units(tail)-back)
			s.set(s.head(), tail, s.units()-back, s.entries())
			return
		}
		a.drop(tail, tail, 1)
		a.link(before, a.previous(before), 0)
		sh.table.budget.give(1)
		s.set(s.head(), before, s.units()-back, s.entries()-1)
	}
}

// append adds units taken now, in at most rooms new entries, and returns how many it made. Without room they join
// the newest entry, which then counts as taken now: its units stay in use longer, never shorter. What is above
// mostUnits an entry is lost, and still far above any limit.
func (sh *shard) append(n int, now, units int64, rooms int) (made int) {
	s, a := logSlot(sh.slot(n)), &sh.entries
	if tail := s.tail(); units > 0 && (rooms == 0 || a.time(tail) == now || a.units(tail) == 0) {
		more := min(units, mostUnits-a.units(tail))
		a.set(tail, now, a.units(tail)+more)
		s.set(s.head(), tail, s.units()+more, s.entries())
		units -= more
	}
	for ; units > 0 && made < rooms; made++ {
		more := min(units, mostUnits)
		tail := a.add(s.tail(), now, more)
		s.set(s.head(), tail, s.units()+more, s.entries()+1)
		units -= more
	}
	return made
}
