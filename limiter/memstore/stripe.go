package memstore

import (
	"hash/maphash"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
)

// stripe is a part of the store under one lock: the keys whose hashes end in its index, of every table.
type stripe struct {
	mu     sync.Mutex
	latest int64 // the latest time seen, Unix milliseconds
	shards []shard
	store  *Store
	index  int
	idleAt atomic.Int64 // no counter is idle before this time; written under mu
	log    logReader    // of the charge being decided
	// sweepAt is when the first of the shards is to be swept; written under mu.
	sweepAt atomic.Int64
	// evictAt is when all of the stripe may be looked at next for a counter to evict.
	evictAt int64
	// Counted here, as refusals by a sketch write nothing else that stripes share.
	overflowed atomic.Uint64
	_          [128 - 120]byte // two cache lines, fetched together: saves a tenth of a decision with 100,000 keys
}

// stripesFor returns how many stripes a store has. 256 keep two cores, and many more, from meeting in one. Above a
// million keys there are more, so that a shard stays at some 4,096 keys and doubles in well under a millisecond.
// Below 4,096 keys there are fewer, so that each holds 16 when the store is full: a newcomer takes the place of
// another key of its stripe. 65,536 of them, empty, are 8 MB.
func stripesFor(maxKeys int) int {
	const usual, most, fewestKeys, mostKeys = 256, 65_536, 16, 4096
	n := min(max(1, maxKeys/fewestKeys), usual)
	n = min(max(n, maxKeys/mostKeys), most)
	return 1 << (bits.Len(uint(n)) - 1)
}

// hash returns what identifies a key within a table. Scope and key are hashed apart, so that no choice of one can
// imitate a part of the other, under two secrets, so that they do not cancel out where they are equal.
func (s *Store) hash(scope, key string) uint64 {
	return s.hashScope(scope) ^ s.hashKey(key)
}

func (s *Store) hashScope(scope string) uint64 { return maphash.String(s.seeds[0], scope) }
func (s *Store) hashKey(key string) uint64     { return maphash.String(s.seeds[1], key) }

func (s *Store) stripeOf(hash uint64) *stripe {
	return &s.stripes[hash&uint64(len(s.stripes)-1)]
}

// clock is wall time in milliseconds without steps: the wall is read once, then the monotonic clock counts on from
// there.
type clock struct {
	started time.Time
	wall    atomic.Int64 // at started, in nanoseconds since the Unix epoch; atomic because tests move it
}

// now returns milliseconds since the Unix epoch.
func (c *clock) now() int64 {
	return (c.wall.Load() + int64(time.Since(c.started))) / int64(time.Millisecond)
}

// advance moves the stripe's clock on to now and returns it. It does not go back: a caller that read the clock, and
// then waited for the lock while others passed a window boundary, would otherwise take the counts of the new window for
// the future.
func (st *stripe) advance(now int64) int64 {
	if now > st.latest {
		st.latest = now
	}
	return st.latest
}

// shard returns the part of t that lies in this stripe, swept if that is due. The pointer holds until the next call
// for another table.
func (st *stripe) shard(t *table, now int64) *shard {
	if t.index >= len(st.shards) || now >= st.shards[t.index].lookAt {
		st.prepare(t, now)
	}
	return &st.shards[t.index]
}

// prepare makes or sweeps a shard, and sweeps others for which nobody may come. A new shard comes here because its
// lookAt is 0.
func (st *stripe) prepare(t *table, now int64) {
	if more := t.index + 1 - len(st.shards); more > 0 {
		st.shards = append(st.shards, make([]shard, more)...)
	}
	sh := &st.shards[t.index]
	if sh.table != nil {
		sh.lookAt = min(sh.sweepAt, now+sweepEvery)
		if now >= sh.sweepAt {
			sh.sweep(now, false)
		}
		st.store.sweepOthers(now)
		return
	}
	sh.table, sh.stripe = t, st
	if t.Algorithm == limiter.StrictWindow {
		sh.parts = new(algorithm.Parts)
	}
	sh.plan(now, never, never)
}
