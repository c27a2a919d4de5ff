package storekit

import (
	"hash/maphash"
	"sync/atomic"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

const (
	// DefaultDenyCache is how many refusals a [DenyCache] of size 0 holds: at most 10 MB.
	DefaultDenyCache = 65_536

	// longestAnswer bounds how late a reset or a refund by another instance is noticed.
	longestAnswer = time.Second

	// ways is how many places a counter can lie in: as many pointers as fill one cache line.
	ways = 8
)

// DenyCache remembers refusals, so that a client that goes on asking is answered without a trip. A refusal of an
// [limiter.Enforce] charge with RetryAfter r answers equal charges (same counter, limit and cost) for r, at most
// one second, counted from before the trip: for that time other traffic can only add to the counter, so the
// answer is the one that the server would give. Only refunds and resets free a counter earlier; those through the
// same store drop its answers ([DenyCache.Learn], [DenyCache.Forget]), those of other instances are noticed within
// the second.
//
// Memory is bounded by the number of entries. A flood of refused keys overwrites the answers that end soonest among
// a few, at a constant price, and what is lost costs a trip. No key is kept, only a hash of it under a secret seed.
//
// A nil *DenyCache holds nothing. It is safe for concurrent use; looking up takes no lock and no allocation.
type DenyCache struct {
	seed maphash.Seed
	sets []denySet // a power of two
}

type denySet struct {
	places [ways]atomic.Pointer[refusal]
	// forgotten is the moment of the latest Forget in this set. A refusal that was decided before it may be
	// out of date and is not remembered.
	forgotten atomic.Int64
}

// refusal is one answer; it never changes.
type refusal struct {
	counter      uint64
	limit        limiter.Limit
	cost         int64
	until, after time.Duration
	state        limiter.State
	decision     limiter.Decision
}

// counter is what a charge counts on, for hashing.
type counter struct {
	scope, key string
	window     time.Duration
	algorithm  limiter.Algorithm
}

// NewDenyCache returns a cache of that many entries, rounded up to a power of two: 0 means [DefaultDenyCache],
// below 0 none (and the cache is nil).
func NewDenyCache(entries int) *DenyCache {
	if entries < 0 {
		return nil
	}
	if entries == 0 {
		entries = DefaultDenyCache
	}
	sets := 1
	for sets*ways < entries {
		sets *= 2
	}
	d := &DenyCache{seed: maphash.MakeSeed(), sets: make([]denySet, sets)}
	for i := range d.sets {
		d.sets[i].forgotten.Store(-1)
	}
	return d
}

// Answer tells whether the batch is refused by what is remembered, and then fills in its charges. Those that were
// remembered get the State and Decision of then, with RetryAfter and ResetAfter less by the time since. The others
// were not judged: Allowed is true, all else zero. All are marked as Cached.
//
// A batch that gives something back is never answered, as that may be what makes the rest fit.
func (d *DenyCache) Answer(charges []limiter.Charge, now time.Duration) bool {
	if d == nil {
		return false
	}
	var first *refusal // kept, as it may be dropped at any moment
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

// Learn takes in a batch after its trip, which began at before and ended at after: what was refused is remembered,
// and the counters of refunds are forgotten. taken is what Take returns. After an error call [DenyCache.Forget]
// instead. A store must not pass a refusal that rests on counts which others may be about to take back.
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
		if c.Mode == limiter.Enforce && !c.Allowed && c.Cost >= 0 && !sharesCounter(charges[:i], c) {
			d.remember(c, before, after)
		}
	}
}

// Forget drops what is remembered of the counters to which charges with a negative Cost gave back. Call it after
// the trip, also after one that failed.
func (d *DenyCache) Forget(charges []limiter.Charge, after time.Duration) {
	for i := range charges {
		if charges[i].Cost < 0 {
			d.Drop(&charges[i], after)
		}
	}
}

// Drop drops all that is remembered of the charge's counter. Call it for each charge of a reset, after the trip,
// also after one that failed.
func (d *DenyCache) Drop(c *limiter.Charge, after time.Duration) {
	if d == nil {
		return
	}
	set, hash := d.find(c)
	for {
		was := set.forgotten.Load()
		if was >= int64(after) || set.forgotten.CompareAndSwap(was, int64(after)) {
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
	if int64(before) <= set.forgotten.Load() {
		return
	}
	r := &refusal{
		counter: hash, limit: c.Limit, cost: c.Cost,
		until: before + min(c.RetryAfter, longestAnswer), after: after,
		state: c.State, decision: c.Decision,
	}
	place := set.victim(r, after)
	place.Store(r)
	// A Drop that came between either finds the entry in its place or has left its mark.
	if int64(before) <= set.forgotten.Load() {
		place.CompareAndSwap(r, nil)
	}
}

// victim is where r goes: over an equal one, else into a place that is empty or over, else over the one that is
// over soonest.
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
	if c.Mode != limiter.Enforce {
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

// answer fills in a charge that r refuses, or that nobody has judged if r is nil. The waits count from the end of the
// trip: whoever waits as long as told must not come a trip too early.
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
		e := &earlier[i]
		if e.Key == c.Key && e.Scope == c.Scope && e.Limit.Window == c.Limit.Window && e.Limit.Algorithm == c.Limit.Algorithm {
			return true
		}
	}
	return false
}
