package console

import (
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/httplimit/httplimit"
)

const (
	keptSeconds = 900  // what is shown: 15 minutes
	ringSeconds = 1024 // what is kept: the power of two above it

	stripeCount = 16
	recentSlots = 8 // of a stripe: how many seconds late a count may come and still stand in its own second
)

// history counts what was decided, second by second, for the last 15 minutes, in 95 kB whatever happens. Nothing is
// ever counted twice or lost; a count that comes more than 8 seconds late may stand in a later second. It keeps no
// clock of its own: seconds are those of Unix time. Counting waits for nobody. Safe for concurrent use.
type history struct {
	// Each stripe counts the latest seconds on cache lines of its own. Where a second's place is needed for a later
	// one, its counts move to the ring.
	stripes [stripeCount][recentSlots]slot
	// Counts that find the ring taken when they would move something into it.
	spare [recentSlots]slot

	mu   sync.Mutex // guards ring and what moves into it
	ring [ringSeconds]pastSecond
}

// slot is two cache lines, of which most requests need the first one only.
type slot struct {
	second atomic.Uint32
	n      [counterCount]atomic.Uint32
	_      uint32
}

type pastSecond struct {
	second uint32
	n      [tallied]uint32
}

// stripeOf chooses the stripe of an observation. The Middleware keeps observations in a pool, which gives each
// processor its own: so the address is a processor's number of sorts, and costs nothing.
func stripeOf(o *httplimit.Observation) uint {
	const golden = 0x9E3779B97F4A7C15 // 2^64 divided by the golden ratio: its multiples are spread evenly
	return uint(uint64(reflect.ValueOf(o).Pointer()) * golden >> 60)
}

// count adds 1 to a counter.
func (h *history) count(stripe uint, second uint32, n counter) {
	s := &h.stripes[stripe%stripeCount][second%recentSlots]
	if s.second.Load() != second && !h.turn(s, second) {
		s = h.spareSlot(second)
	}
	s.n[n].Add(1)
}

// turn makes a slot that of a later second. It does not, and returns false, while somebody else turns one or reads.
func (h *history) turn(s *slot, second uint32) bool {
	if !h.mu.TryLock() {
		return false
	}
	defer h.mu.Unlock()
	if s.second.Load() < second { // else another one was first, or second is long past
		h.move(s)
		s.second.Store(second)
	}
	h.moveSpare()
	return true
}

// spareSlot returns a slot to count in while somebody else has the ring. It needs no lock to be made that of a later
// second, as whoever takes the ring empties it.
func (h *history) spareSlot(second uint32) *slot {
	s := &h.spare[second%recentSlots]
	if old := s.second.Load(); old < second {
		s.second.CompareAndSwap(old, second)
	}
	return s
}

// moveSpare empties the slots that are used while the ring is taken. The lock is held.
func (h *history) moveSpare() {
	for i := range h.spare {
		h.move(&h.spare[i])
	}
}

// move moves what a slot has counted to the ring. The lock is held.
func (h *history) move(s *slot) {
	var n counted
	for i := range s.n {
		if s.n[i].Load() > 0 {
			n[i] = s.n[i].Swap(0)
		}
	}
	h.keep(s.second.Load(), &n) // not before: what comes in between may stand in a later second, never in one before
}

// keep adds what was counted in a second to the ring, unless that is older than what is kept. The lock is held.
func (h *history) keep(second uint32, n *counted) {
	past := &h.ring[second%ringSeconds]
	if past.second < second {
		*past = pastSecond{second: second}
	}
	if past.second > second {
		return
	}
	for kind := range fateOf {
		past.n[kind] += n[kind] + n[without(uint8(kind))]
		past.n[fateOf[kind]] += n[kind]
	}
}

// read adds to each of into what was counted in one second, the first of them from.
func (h *history) read(from uint32, into []tally) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.moveSpare()
	for i := range into {
		second := from + uint32(i)
		if past := &h.ring[second%ringSeconds]; past.second == second {
			for k, n := range past.n {
				into[i][k] += uint64(n)
			}
		}
	}
	for stripe := range h.stripes {
		for k := range h.stripes[stripe] {
			s := &h.stripes[stripe][k]
			if i := s.second.Load() - from; i < uint32(len(into)) { // what is before from wraps around
				s.addTo(&into[i])
			}
		}
	}
}

// addTo adds what a slot has counted.
func (s *slot) addTo(t *tally) {
	for kind, fate := range fateOf {
		n := uint64(s.n[kind].Load())
		t[kind] += n + uint64(s.n[without(uint8(kind))].Load())
		t[fate] += n
	}
}

// lockedSecond counts one second by plain additions, for those who hold a lock anyway: that is cheaper than an atomic
// one. The lock is held whenever it is used.
type lockedSecond struct {
	second uint32
	n      counted
}

// count adds 1 to a counter. It does not, and returns false, if the second is another one, and what was counted cannot
// move to the history at once.
func (l *lockedSecond) count(h *history, second uint32, n counter) bool {
	if l.second != second && !l.turn(h, second) {
		return false
	}
	l.n[n]++
	return true
}

// turn moves what was counted to the history, and begins a later second.
func (l *lockedSecond) turn(h *history, second uint32) bool {
	if second < l.second || !h.mu.TryLock() {
		return false
	}
	h.keep(l.second, &l.n)
	h.mu.Unlock()
	*l = lockedSecond{second: second}
	return true
}

// flush moves what was counted to the history.
func (l *lockedSecond) flush(h *history) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.keep(l.second, &l.n)
	l.n = counted{}
}
