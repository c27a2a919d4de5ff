package storekit

import (
	"hash/maphash"
	"sync/atomic"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

const (
	defaultEntries = 65_536 // at most 10 MB

	// longestAnswer bounds how late a reset or a refund by another instance is noticed.
	longestAnswer = time.Second

	// ways is the number of places for a refusal, in one set: as many pointers as fill one cache line.
	ways = 8
)

// DenyCache remembers refusals, so that a client that goes on asking is answered without a call. A refusal of an
// [limiter.Enforce] charge with RetryAfter r answers equal charges (same counter, limit and cost) for r, at most one
// second, counted from before the call. Until then other traffic can only add to the counter, so the answer is the one
// that the server would give. Only refunds and resets free a counter earlier: those through the same store drop its
// refusals ([DenyCache.Learn], [DenyCache.Forget], [DenyCache.Drop]), those of other instances are noticed within the
// second. Of a charge that is Brief nothing is remembered: its units come back all the time.
//
// Memory is bounded by the number of entries. Under a flood of refused keys the refusals that end soonest are
// overwritten, at a constant price; one that is lost costs a call. No key is kept, only a hash of it under a secret
// seed.
//
// A nil *DenyCache holds nothing. It is safe for concurrent use; a lookup takes no lock and allocates nothing.
type DenyCache struct {
	seed maphash.Seed
	sets []denySet // a power of two
	// over is when the latest refusal ends that was ever remembered: from then on none is looked for.
	over atomic.Int64
	hits [hitStripes]hitCount
}

type denySet struct {
	places [ways]atomic.Pointer[refusal]
	// droppedBefore is just after the latest Drop in this set, 0 if there was none. A refusal whose call began
	// before it may be out of date and is not remembered.
	droppedBefore atomic.Int64
}

// refusal is one remembered answer. It never changes.
type refusal struct {
	counter      uint64
	limit        limiter.Limit
	cost         int64
	until, after time.Duration
	state        limiter.State
	decision     limiter.Decision
}

// counter is what names the counter of a charge, for hashing.
type counter struct {
	scope, key string
	window     time.Duration
	algorithm  limiter.Algorithm
}

// NewDenyCache returns a cache of that many entries, rounded up to a power of two. 0 means 65,536; below 0 there are
// none and the cache is nil.
func NewDenyCache(entries int) *DenyCache {
	if entries < 0 {
		return nil
	}
	if entries == 0 {
		entries = defaultEntries
	}
	sets := 1
	for sets*ways < entries {
		sets *= 2
	}
	return &DenyCache{seed: maphash.MakeSeed(), sets: make([]denySet, sets)}
}

// Answer reports whether a remembered refusal refuses the batch, and if so fills in its charges. A charge whose refusal
// is remembered gets the State and Decision of then, with RetryAfter and ResetAfter less by the time since. The others
// were not judged: Allowed is true, all else zero. All are marked as Cached.
//
// A batch with a refund is never answered: the refund may make the rest fit.
func (d *DenyCache) Answer(charges []limiter.Charge, now time.Duration) bool {
	if d == nil || int64(now) >= d.over.Load() {
		return false
	}
	var first *refusal // a second lookup may find it dropped
	at := 0
	for i := range charges {
		if charges[i].Cost < 0 {
			return false
		}
		if first == nil {
			first, at = d.lookup(&charges[i], now), i
		}
	}
	if first == nil {
		return false
	}
	d.countHit()
	for i := range charges {
		var r *refusal
		switch {
		case i == at:
			r = first
		case i > at:
			r = d.lookup(&charges[i], now)
		}
		r.answer(&charges[i], now)
	}
	return true
}

// Learn takes in a batch after its call, which began at before and ended at after: refusals are remembered, and those
// of counters to which the batch gave units back are dropped. taken is what Take returns. After an error call
// [DenyCache.Forget] instead. A store must not pass a refusal that rests on units which others may be about to give
// back.
func (d *DenyCache) Learn(charges []limiter.Charge, taken bool, before, after time.Duration) {
	if d == nil {
		return
	}
	if taken {
		d.Forget(charges, after)
		return
	}
	for i := range charges {
		c := &charges[i]
		// On top of earlier charges of its own batch a charge is refused sooner than alone.
		if c.Mode == limiter.Enforce && !c.Allowed && c.Cost >= 0 && !c.Brief && !sharesCounter(charges[:i], c) {
			d.remember(c, before, after)
		}
	}
}

// Forget drops the refusals of the counters to which charges with a negative Cost gave units back. Call it after the
// call, also after one that failed.
func (d *DenyCache) Forget(charges []limiter.Charge, after time.Duration) {
	for i := range charges {
		if charges[i].Cost < 0 {
			d.Drop(&charges[i], after)
		}
	}
}

// Drop drops all refusals of the charge's counter. Call it for each charge of a reset, after the call, also after one
// that failed.
func (d *DenyCache) Drop(c *limiter.Charge, after time.Duration) {
	if d == nil {
		return
	}
	set, hash := d.find(c)
	end := int64(after) + 1
	for {
		was := set.droppedBefore.Load()
		if was >= end || set.droppedBefore.CompareAndSwap(was, end) {
			break
		}
	}
	for i := range set.places {
		if r := set.places[i].Load(); r != nil && r.counter == hash {
			set.places[i].CompareAndSwap(r, nil)
		}
	}
}

func (d *DenyCache) remember(c *limiter.Charge, before, after time.Duration) {
	set, hash := d.find(c)
	if int64(before) < set.droppedBefore.Load() {
		return
	}
	r := &refusal{
		counter: hash, limit: c.Limit, cost: c.Cost,
		until: before + min(c.RetryAfter, longestAnswer), after: after,
		state: c.State, decision: c.Decision,
	}
	place := set.victim(r, after)
	place.Store(r)
	for over := d.over.Load(); over < int64(r.until) && !d.over.CompareAndSwap(over, int64(r.until)); {
		over = d.over.Load()
	}
	// A Drop since the first check either found r in its place or has set droppedBefore.
	if int64(before) < set.droppedBefore.Load() {
		place.CompareAndSwap(r, nil)
	}
}

// victim returns the place for r: that of an equal refusal, else one that is empty or over, else that of the refusal
// that ends soonest.
func (s *denySet) victim(r *refusal, now time.Duration) *atomic.Pointer[refusal] {
	var best *atomic.Pointer[refusal]
	soonest := limiter.Never
	for i := range s.places {
		place := &s.places[i]
		old := place.Load()
		if old != nil && old.equals(r.counter, r.limit, r.cost) {
			return place
		}
		until := time.Duration(-1)
		if old != nil && old.until > now {
			until = old.until
		}
		if best == nil || until < soonest {
			best, soonest = place, until
		}
	}
	return best
}

func (d *DenyCache) lookup(c *limiter.Charge, now time.Duration) *refusal {
	if c.Mode != limiter.Enforce || c.Brief {
		return nil
	}
	set, hash := d.find(c)
	for i := range set.places {
		if r := set.places[i].Load(); r != nil && now < r.until && r.equals(hash, c.Limit, c.Cost) {
			return r
		}
	}
	return nil
}

func (d *DenyCache) find(c *limiter.Charge) (set *denySet, hash uint64) {
	hash = maphash.Comparable(d.seed, counter{c.Scope, c.Key, c.Limit.Window, c.Limit.Algorithm})
	return &d.sets[hash&uint64(len(d.sets)-1)], hash
}

func (r *refusal) equals(counter uint64, limit limiter.Limit, cost int64) bool {
	return r.counter == counter && r.cost == cost && r.limit == limit
}

// answer fills in a charge that r refuses, or that was not judged if r is nil. Waits count from the end of the call:
// a client that waits for exactly RetryAfter must not come too early by the duration of a call.
func (r *refusal) answer(c *limiter.Charge, now time.Duration) {
	c.Cached = true
	if r == nil {
		c.State, c.Decision = limiter.State{}, limiter.Decision{Allowed: true}
		return
	}
	c.State, c.Decision = r.state, r.decision
	passed := max(0, now-r.after).Truncate(time.Millisecond)
	if c.RetryAfter != limiter.Never {
		c.RetryAfter = max(time.Millisecond, c.RetryAfter-passed)
	}
	c.ResetAfter = max(0, c.ResetAfter-passed)
}

func sharesCounter(earlier []limiter.Charge, c *limiter.Charge) bool {
	for i := range earlier {
		if earlier[i].SameCounter(c) {
			return true
		}
	}
	return false
}
