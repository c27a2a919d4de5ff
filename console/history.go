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

	stripeCount  = 16
	recentSlots  = 8 // of a stripe: how many seconds late a count may come and still stand in its own second
	countersEach = 15
)

// Counters of one second: one for each pair of Result and Source that there is, so that a decision costs one atomic
// addition. A slot of them, with its second, is one cache line.
const (
	unjudged = iota
	allowedStore
	allowedLocal
	refusedStore
	refusedCache
	refusedLocal
	shadowStore
	shadowCache
	shadowLocal
	bannedStore
	bannedCache
	open
	closed
	nearLimit // also counted as allowed
)

// Counters of one second of the history of all requests.
const (
	passed = iota
	refused
	unavailable
)

// counterOf says which counter a decision belongs to, by Result and Source.
var counterOf = [8][4]uint8{
	httplimit.ResultUnjudged:      {unjudged, unjudged, unjudged, unjudged},
	httplimit.ResultAllowed:       {allowedStore, allowedStore, allowedStore, allowedLocal},
	httplimit.ResultRefused:       {refusedStore, refusedStore, refusedCache, refusedLocal},
	httplimit.ResultShadowRefused: {shadowStore, shadowStore, shadowCache, shadowLocal},
	httplimit.ResultBanned:        {bannedStore, bannedStore, bannedCache, bannedStore},
	httplimit.ResultOpen:          {open, open, open, open},
	httplimit.ResultClosed:        {closed, closed, closed, closed},
}

// tally is what was counted in one second or over several.
type tally [countersEach]uint64

func (t *tally) add(other *tally) {
	for i := range t {
		t[i] += other[i]
	}
}

// history counts what was decided, second by second, for the last 15 minutes, in 72 kB whatever happens. Nothing is
// ever counted twice or lost; a count that comes more than 8 seconds late may stand in a later second. It keeps no
// clock of its own: seconds are those of Unix time. Safe for concurrent use.
type history struct {
	// Each stripe counts the latest seconds on cache lines of its own. Where a second's place is needed for a later
	// one, its counts move to the ring.
	stripes [stripeCount][recentSlots]slot

	mu   sync.Mutex // guards ring and what moves into it
	ring [ringSeconds]pastSecond
}

// slot is one cache line.
type slot struct {
	second atomic.Uint32
	n      [countersEach]atomic.Uint32
}

type pastSecond struct {
	second uint32
	n      [countersEach]uint32
}

// stripeOf chooses the stripe of an observation. The Middleware keeps observations in a pool, which gives each
// processor its own: so the address is a processor's number of sorts, and costs nothing.
func stripeOf(o *httplimit.Observation) uint {
	const golden = 0x9E3779B97F4A7C15 // 2^64 divided by the golden ratio: its multiples are spread evenly
	return uint(uint64(reflect.ValueOf(o).Pointer()) * golden >> 60)
}

// count adds 1 to a counter.
func (h *history) count(stripe uint, second uint32, counter uint8) {
	s := &h.stripes[stripe%stripeCount][second%recentSlots]
	if s.second.Load() != second {
		h.turn(s, second)
	}
	s.n[counter].Add(1)
}

// turn makes a slot that of a later second.
func (h *history) turn(s *slot, second uint32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	old := s.second.Load()
	if old >= second {
		return // another one was first, or second is long past
	}
	past := &h.ring[old%ringSeconds]
	if past.second < old {
		*past = pastSecond{second: old}
	}
	for i := range s.n {
		if n := s.n[i].Swap(0); past.second == old {
			past.n[i] += n
		}
	}
	s.second.Store(second)
}

// read adds to each of into what was counted in one second, the first of them from.
func (h *history) read(from uint32, into []tally) {
	h.mu.Lock()
	defer h.mu.Unlock()
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
				for k := range s.n {
					into[i][k] += uint64(s.n[k].Load())
				}
			}
		}
	}
}
