package memstore

import (
	"math"
	"math/bits"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
)

// shard is the part of a table that lies in one stripe, under its lock: a hash table with open addressing, linear
// probing and no tombstones. The zero shard has not been given to a table yet.
//
// Slots (see slot.go) lie in the order of their hashes, so that growing and shrinking read and write memory from front
// to back. The shards of a store begin with 8 to 15 slots and double from there. So they do not all double at the same
// time, which would allocate half of the store within a few milliseconds: more than a garbage collection under way lets
// pass without making the callers do its work.
type shard struct {
	table    *table
	slots    []uint64
	tails    []uint64 // of a StrictWindow: what of its slots the hash table need not read
	capacity int      // in slots: 0, or the smallest one times a power of two
	number   int64    // of the window, or of the part, that was last asked for
	lookAt   int64    // when to look next whether to sweep; a decision on the fast path reads no further

	parts     *algorithm.Parts // of a StrictWindow: those of the charge being decided
	used      int              // slots in use
	log       logArena         // of a SlidingLog
	overflow  *sketch          // of newcomers without a slot
	evictNext int              // the slot where to look next for a counter to evict
	idleAt    int64            // no counter in here is idle before this time (see expires)
	sweepAt   int64            // when to sweep next
	swept     int64            // when the shard was last swept
	stripe    *stripe
}

const never = math.MaxInt64

// smallest returns the capacity of a shard with its first counter: 128 to 360 bytes.
func (sh *shard) smallest() int { return 8 + sh.stripe.index%8 }

// home returns the number of the slot where hash would best be. The low byte has no part in it, as no slot holds it.
func (sh *shard) home(hash uint64) int {
	n, _ := bits.Mul64(hash&^lowByte, uint64(sh.capacity))
	return int(n)
}

// after returns the number of the slot after slot number n.
func (sh *shard) after(n int) int {
	if n++; n < sh.capacity {
		return n
	}
	return 0
}

// distance returns how many slots after slot number from comes slot number to.
func (sh *shard) distance(from, to int) int {
	if from <= to {
		return to - from
	}
	return to - from + sh.capacity
}

// slot returns the words of slot number n.
func (sh *shard) slot(n int) []uint64 {
	at := n * sh.table.stride
	return sh.slots[at : at+sh.table.stride]
}

// tail returns the other words of slot number n, of a StrictWindow.
func (sh *shard) tail(n int) []uint64 {
	at := n * sh.table.tail
	return sh.tails[at : at+sh.table.tail]
}

// taken reports whether slot number n holds a counter: the second word of one is never 0.
func (sh *shard) taken(n int) bool { return sh.slots[n*sh.table.stride+1] != 0 }

// find returns the number of the slot that holds hash or, if there is none, of the free one where it would be, if there
// are slots.
func (sh *shard) find(hash uint64) (n int, found bool) {
	if sh.capacity == 0 {
		return 0, false
	}
	stride := sh.table.stride
	for n := sh.home(hash); ; n = sh.after(n) {
		at := n * stride
		if sh.slots[at+1] == 0 {
			return n, false
		}
		if sameHash(sh.slots[at], hash) {
			return n, true
		}
	}
}

func sameHash(word, hash uint64) bool { return word^hash <= lowByte }

// numberAt returns the number of the window of now, of a StrictWindow that of the part. It is remembered: with 100,000
// keys a division costs a twelfth of the decision.
func (sh *shard) numberAt(now int64) int64 {
	if elapsed := now - sh.number*sh.table.unit; elapsed < 0 || elapsed >= sh.table.unit {
		sh.number = now / sh.table.unit
	}
	return sh.number
}

// insert returns the number of a free slot for hash, which must not be in the shard yet. The caller fills it.
func (sh *shard) insert(hash uint64) (n int) {
	if sh.full() {
		sh.grow()
	}
	sh.used++
	return sh.free(hash)
}

// full reports whether 7/8 of the slots are in use, and the shard has to grow for one more counter. Linear probing looks
// at 4 to 5 slots then for a key that is there.
func (sh *shard) full() bool { return 8*sh.used >= 7*sh.capacity }

func (sh *shard) free(hash uint64) (n int) {
	for n = sh.home(hash); sh.taken(n); n = sh.after(n) {
	}
	return n
}

// remove forgets the counter in slot number n.
func (sh *shard) remove(n int) {
	entries := 1
	if sh.table.Algorithm == limiter.SlidingLog {
		s := logSlot(sh.slot(n))
		entries = s.entries()
		sh.log.drop(s.head(), s.tail(), entries)
	}
	sh.table.budget.give(int64(entries))
	for next := sh.after(n); sh.taken(next); next = sh.after(next) {
		// A counter that was pushed past its home by the one that leaves moves up, so that no counter is
		// behind a free slot on the way from its home.
		home := sh.home(sh.slot(next)[0])
		if sh.distance(home, next) >= sh.distance(n, next) {
			sh.put(n, sh.slot(next), sh.tail(next))
			n = next
		}
	}
	clear(sh.slot(n))
	clear(sh.tail(n))
	sh.used--
}

// grow sweeps if that may help, and else doubles.
func (sh *shard) grow() {
	if now := sh.stripe.latest; sh.idleAt <= now {
		sh.sweep(now, false)
	}
	// A sweep that frees little is followed by many more, so it does not spare the doubling.
	if 8*sh.used >= 5*sh.capacity {
		sh.resize(max(sh.smallest(), 2*sh.capacity))
	}
}

func (sh *shard) resize(capacity int) {
	old := *sh
	sh.capacity, sh.evictNext = capacity, 0
	sh.slots, sh.tails = make([]uint64, capacity*sh.table.stride), make([]uint64, capacity*sh.table.tail)
	if capacity == 0 {
		return // nothing is left
	}
	for from := range old.capacity {
		if old.taken(from) {
			sh.put(sh.free(old.slot(from)[0]), old.slot(from), old.tail(from))
		}
	}
}

// put copies words into slot number n. For so few of them the built-in copy takes several times as long.
func (sh *shard) put(n int, words, tail []uint64) {
	for i, word := range words {
		sh.slots[n*len(words)+i] = word
	}
	for i, word := range tail {
		sh.tails[n*len(tail)+i] = word
	}
}
