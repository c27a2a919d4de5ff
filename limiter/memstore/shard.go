package memstore

import (
	"math"
	"math/bits"
)

// shard is the part of a table that lies in one stripe, under its lock: a hash table with open addressing, linear
// probing and no tombstones. The zero shard is of no table.
//
// A slot is two or three words in a row (see slot.go). Slots lie in the order of the top bits of their hashes, so
// that growing and shrinking read and write memory from front to back.
type shard struct {
	table *table
	slots []uint64
	shift uint // a hash shifted right by this is the number of the slot where it would best be
	used  int  // slots in use

	latest  int64 // number of the window that was last asked for
	due     int64 // nothing in here is settled before this time (see settled)
	over    int64 // nothing in here ends before this time (see ends)
	swept   int64 // when the shard was last swept
	sweepAt int64 // when to sweep next

	entries arena   // of a SlidingLog
	crowd   *sketch // of newcomers without a slot
	probe   int     // where to look next for a counter to forget

	stripe *stripe
}

const (
	smallest = 8 // slots, one or two cache lines
	never    = math.MaxInt64
)

// capacity is in slots; 0 or a power of two.
func (sh *shard) capacity() int {
	if sh.slots == nil {
		return 0
	}
	return 1 << (64 - sh.shift)
}

// home is the number of the slot where hash would best be.
func (sh *shard) home(hash uint64) int { return int(hash >> sh.shift) }

// slot is the words of slot number n.
func (sh *shard) slot(n int) []uint64 {
	at := n * sh.table.stride
	return sh.slots[at : at+sh.table.stride]
}

// taken reports whether slot number n holds a counter: the second word of one is never 0.
func (sh *shard) taken(n int) bool { return sh.slots[n*sh.table.stride+1] != 0 }

// find returns the number of the slot that holds hash.
func (sh *shard) find(hash uint64) (n int, found bool) {
	if sh.slots == nil {
		return 0, false
	}
	last, stride := sh.capacity()-1, sh.table.stride
	for n := sh.home(hash); ; n = (n + 1) & last {
		at := n * stride
		if sh.slots[at+1] == 0 {
			return 0, false
		}
		if sameHash(sh.slots[at], hash) {
			return n, true
		}
	}
}

// insert returns the number of a free slot for hash, which must not be in the shard yet. The caller fills it.
func (sh *shard) insert(hash uint64) (n int) {
	if sh.full() {
		sh.makeSpace()
	}
	sh.used++
	return sh.free(hash)
}

func (sh *shard) free(hash uint64) (n int) {
	last := sh.capacity() - 1
	for n = sh.home(hash); sh.taken(n); n = (n + 1) & last {
	}
	return n
}

// remove forgets the counter in slot number n.
func (sh *shard) remove(n int) {
	sh.table.budget.give(sh.release(n))
	last := sh.capacity() - 1
	for next := (n + 1) & last; sh.taken(next); next = (next + 1) & last {
		// Whatever was pushed past its home by the counter that leaves moves up, so that nothing that is
		// looked for is behind a free slot.
		home := sh.home(sh.slot(next)[0])
		if (next-home)&last >= (next-n)&last {
			copy(sh.slot(n), sh.slot(next))
			n = next
		}
	}
	clear(sh.slot(n))
	sh.used--
}

// full at 7/8: linear probing then looks at 4 to 5 slots for a key that is there.
func (sh *shard) full() bool { return sh.used >= sh.capacity()/8*7 }

// makeSpace sweeps if that may help, and else doubles.
func (sh *shard) makeSpace() {
	if now := sh.stripe.latest; sh.over <= now {
		sh.sweep(now, false)
	}
	// A sweep that frees little is followed by many more, so it does not spare the doubling.
	if sh.slots == nil || sh.used > sh.capacity()/8*5 {
		sh.resize(max(smallest, 2*sh.capacity()))
	}
}

func (sh *shard) resize(capacity int) {
	old, stride := sh.slots, sh.table.stride
	if capacity == 0 {
		sh.slots = nil
		return
	}
	sh.slots = make([]uint64, capacity*stride)
	sh.shift = uint(64 - bits.TrailingZeros(uint(capacity)))
	sh.probe = 0
	for at := 0; at < len(old); at += stride {
		if old[at+1] != 0 {
			copy(sh.slot(sh.free(old[at])), old[at:at+stride])
		}
	}
}
