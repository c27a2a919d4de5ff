package kvstore

import (
	"hash/maphash"
	"math"
	"sync"
)

const (
	// memorySize is how many counters are remembered, in 5 MB: as many as a deny cache holds refusals.
	memorySize = 65_536
	memoryWays = 8 // places a counter can lie in
)

// memory holds what was last seen of counters, to save reading them. Nothing in it decides a refusal, and what it
// lets in is verified. Of a flood of keys the oldest of a few are overwritten.
type memory struct {
	seed maphash.Seed
	sets []memorySet
}

type memorySet struct {
	mu     sync.Mutex
	places *[memoryWays]recollection // nil until used
}

type recollection struct {
	counter uint64 // hash; 0 is none
	number  int64  // of the window
	touched int64  // when, in Unix milliseconds

	previous      int64 // count of the window before, once nothing is added to it any more
	current       int64 // last seen
	since         int64 // since when current has been what it is
	knowsPrevious bool
	knowsCurrent  bool
	underWay      int64 // units that callers of this process are adding
	callers       int   // of this process that have added or are adding, and may give back
}

func newMemory() *memory {
	return &memory{seed: maphash.MakeSeed(), sets: make([]memorySet, memorySize/memoryWays)}
}

func (m *memory) hash(base string) uint64 { return max(1, maphash.String(m.seed, base)) }

// recall fills in the counts of c as if all who are adding had added, and tells whether they are known.
func (m *memory) recall(c *counter) bool {
	known := false
	m.with(c, func(r *recollection) {
		known = r.knowsCurrent && (r.knowsPrevious || !c.sliding())
		c.current, c.previous = r.current+r.underWay, r.previous
	})
	return known
}

// saw remembers counts that were read.
func (m *memory) saw(c *counter, at int64) {
	m.make(c, at, func(r *recollection) {
		r.see(c.current, at)
		r.previous, r.knowsPrevious = c.previous, c.settled
	})
}

// added remembers the sum that an addition returned.
func (m *memory) added(c *counter, at, sum int64) {
	m.make(c, at, func(r *recollection) { r.see(sum, at) })
}

// enter notes a caller who is about to add units, land that they are added or that it failed, leave that the caller
// will not give them back any more.
func (m *memory) enter(c *counter, at, units int64) {
	m.make(c, at, func(r *recollection) { r.underWay, r.callers = r.underWay+units, r.callers+1 })
}

func (m *memory) land(c *counter, units int64) {
	m.with(c, func(r *recollection) { r.underWay = max(0, r.underWay-units) })
}

func (m *memory) leave(c *counter) {
	m.with(c, func(r *recollection) { r.callers = max(0, r.callers-1) })
}

// standing tells whether callers of this process may give back to c, and since when its count has been what it is.
func (m *memory) standing(c *counter) (busy bool, since int64) {
	since = math.MaxInt64
	m.with(c, func(r *recollection) { busy, since = r.callers > 0, r.since })
	return busy, since
}

// forget drops the counts of c.
func (m *memory) forget(c *counter) {
	m.with(c, func(r *recollection) { r.knowsCurrent, r.knowsPrevious = false, false })
}

func (r *recollection) see(current, at int64) {
	if !r.knowsCurrent || r.current != current {
		r.since = at
	}
	r.current, r.knowsCurrent = current, true
}

// with calls f with what is remembered of c in its window, if anything is.
func (m *memory) with(c *counter, f func(*recollection)) {
	set := m.set(c)
	set.mu.Lock()
	defer set.mu.Unlock()
	if set.places == nil {
		return
	}
	for i := range set.places {
		if r := &set.places[i]; r.counter == c.hash && r.number == c.number {
			f(r)
			return
		}
	}
}

// make calls f with what is remembered of c in its window, and makes room for it if it is new. What is remembered of
// a later window stays.
func (m *memory) make(c *counter, at int64, f func(*recollection)) {
	set := m.set(c)
	set.mu.Lock()
	defer set.mu.Unlock()
	if set.places == nil {
		set.places = new([memoryWays]recollection)
	}
	place := &set.places[0]
	for i := range set.places {
		r := &set.places[i]
		if r.counter == c.hash {
			place = r
			break
		}
		if r.touched < place.touched {
			place = r
		}
	}
	switch {
	case place.counter != c.hash || place.number < c.number:
		*place = recollection{counter: c.hash, number: c.number}
	case place.number > c.number:
		return
	}
	place.touched = at
	f(place)
}

func (m *memory) set(c *counter) *memorySet {
	return &m.sets[c.hash%uint64(len(m.sets))]
}
