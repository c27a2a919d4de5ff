package kvstore

import (
	"hash/maphash"
	"math"
	"sync"
)

const (
	cacheSize = 65_536 // cached counts, in 5 MB: as many as a deny cache holds refusals
	cacheWays = 8      // places for a counter, in one set
)

// cachedCounts holds the counts that this process saw last, so that they need not be read again. A refusal never rests
// on them, and what they admit is verified. Under a flood of keys the oldest entries of a set are overwritten. It is
// safe for concurrent use.
type cachedCounts struct {
	seed maphash.Seed
	sets []cacheSet
}

type cacheSet struct {
	mu     sync.Mutex
	counts *[cacheWays]cachedCount // nil until used
}

// cachedCount is one counter in one window.
type cachedCount struct {
	counter uint64 // hash; 0 is none
	number  int64  // of the window
	touched int64  // moment of the last use, in Unix milliseconds

	previous    int64 // count of the previous window, once it changes no more
	current     int64 // last seen
	since       int64 // moment from which on current has been the same
	hasPrevious bool
	hasCurrent  bool

	pending int64 // units that batches of this process are adding
	batches int   // of this process that have added or are adding, and may compensate
}

func newCachedCounts() *cachedCounts {
	return &cachedCounts{seed: maphash.MakeSeed(), sets: make([]cacheSet, cacheSize/cacheWays)}
}

func (m *cachedCounts) hash(base string) uint64 { return max(1, maphash.String(m.seed, base)) }

// load sets the counts of c as if all pending units had been added, and reports whether they are known.
func (m *cachedCounts) load(c *counter) (ok bool) {
	m.find(c, func(e *cachedCount) {
		ok = e.hasCurrent && (e.hasPrevious || !c.sliding())
		c.current, c.previous = e.current+e.pending, e.previous
	})
	return ok
}

// store caches the counts of c, which were read.
func (m *cachedCounts) store(c *counter, at int64) {
	m.findOrMake(c, at, func(e *cachedCount) {
		e.setCurrent(c.current, at)
		e.previous, e.hasPrevious = c.previous, c.previousFinal
	})
}

// storeCurrent caches the sum that an addition to c returned.
func (m *cachedCounts) storeCurrent(c *counter, at, sum int64) {
	m.findOrMake(c, at, func(e *cachedCount) { e.setCurrent(sum, at) })
}

// announce notes that a batch is about to add units to c. endAdd must follow when the addition has ended, and retract
// when the batch will not subtract them any more.
func (m *cachedCounts) announce(c *counter, at, units int64) {
	m.findOrMake(c, at, func(e *cachedCount) { e.pending, e.batches = e.pending+units, e.batches+1 })
}

func (m *cachedCounts) endAdd(c *counter, units int64) {
	m.find(c, func(e *cachedCount) { e.pending = max(0, e.pending-units) })
}

func (m *cachedCounts) retract(c *counter) {
	m.find(c, func(e *cachedCount) { e.batches = max(0, e.batches-1) })
}

// stability reports whether batches of this process may still subtract from c, and since when its count has been the
// same.
func (m *cachedCounts) stability(c *counter) (adding bool, since int64) {
	since = math.MaxInt64
	m.find(c, func(e *cachedCount) { adding, since = e.batches > 0, e.since })
	return adding, since
}

// drop forgets the counts of c.
func (m *cachedCounts) drop(c *counter) {
	m.find(c, func(e *cachedCount) { e.hasCurrent, e.hasPrevious = false, false })
}

func (e *cachedCount) setCurrent(current, at int64) {
	if !e.hasCurrent || e.current != current {
		e.since = at
	}
	e.current, e.hasCurrent = current, true
}

// find calls f with the entry of c in its current window, if there is one.
func (m *cachedCounts) find(c *counter, f func(*cachedCount)) {
	set := m.set(c)
	set.mu.Lock()
	defer set.mu.Unlock()
	if set.counts == nil {
		return
	}
	for i := range set.counts {
		if e := &set.counts[i]; e.counter == c.hash && e.number == c.number {
			f(e)
			return
		}
	}
}

// findOrMake calls f with the entry of c in its current window, which it makes if there is none. An entry of a later
// window stays, and f is not called.
func (m *cachedCounts) findOrMake(c *counter, at int64, f func(*cachedCount)) {
	set := m.set(c)
	set.mu.Lock()
	defer set.mu.Unlock()
	if set.counts == nil {
		set.counts = new([cacheWays]cachedCount)
	}
	e := set.place(c)
	switch {
	case e.counter != c.hash || e.number < c.number:
		*e = cachedCount{counter: c.hash, number: c.number}
	case e.number > c.number:
		return
	}
	e.touched = at
	f(e)
}

// place returns the entry of c, of whatever window, else the one whose last use is oldest.
func (s *cacheSet) place(c *counter) *cachedCount {
	oldest := &s.counts[0]
	for i := range s.counts {
		e := &s.counts[i]
		if e.counter == c.hash {
			return e
		}
		if e.touched < oldest.touched {
			oldest = e
		}
	}
	return oldest
}

func (m *cachedCounts) set(c *counter) *cacheSet {
	return &m.sets[c.hash%uint64(len(m.sets))]
}
