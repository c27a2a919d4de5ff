// Package memstore counts in the memory of this process: all five algorithms, a hard bound on memory, no background
// goroutine, nothing to close.
//
// # Memory
//
// [Config].MaxKeys bounds what a Store holds, over all limits together. A counter costs a slot of 16 bytes
// (SlidingWindow and FixedWindow), 24 (TokenBucket and SlidingLog) or 56 (StrictWindow) in hash tables that are between
// 7/32 and 7/8 full, so 18 to 74 bytes, 27 as a rule (28 to 110, 40 as a rule; 64 to 256, 92 as a rule); each moment at
// which a SlidingLog admitted something costs 16 bytes more. A full store may have sketches besides (see below): 16
// bytes for each of MaxKeys, shared by all limits, and 100 bytes for each pair of Algorithm and Window in each stripe
// (256 of them, or one for 4,096 keys). They are made where and when they are needed. Neither slots nor sketches hold
// pointers, so the garbage collector does not look at them. Keys are kept as 64-bit hashes under a secret of the
// process: a client cannot construct two keys that share a counter, and a million keys share one by chance once in tens
// of millions of processes.
//
// What has expired is swept away by later operations, a small part of the store at a time, and the memory is given
// back. Operations on any keys do, and few of them: with ten clients, one operation of each a second, a store of two
// million is empty within half a minute.
//
// # When the store is full
//
// Below nine tenths of MaxKeys, not counting what has expired, no counter is forgotten while it still matters. (Where
// most of what has expired are entries of a few large SlidingLogs, some dozens may be.) At MaxKeys newcomers take the
// place of expired counters, as far as those are found at little cost; then, of a few looked at, of the counter that
// has used the smallest part of its limit; never of one that is at its limit. Where all of those are, the newcomer is
// counted in a sketch, whose cells are shared: it may count too much but never too little. So a flood of new keys frees
// nobody, however it is made.
//
// A counter that is forced beyond its limit at once ([limiter.Force] with a Cost above what the limit allows, as a ban
// is) takes the place of any counter below its limit, as far as one is found among some thousands. If none is, it is
// counted in the sketch, which never says of a TokenBucket that it is beyond its limit: so a Cost of 0 is refused to a
// key for what was forced on that key, and never for another's. [limiter.Shadow] charges that find no slot are not
// counted at all.
//
// It may lead to newcomers being refused early. That begins when more keys than MaxKeys are at their limits at the same
// time: at the default size, in a flood from more than a million addresses (of IPv6, a million /64s). It ends within
// two windows after the flood. When a quarter of MaxKeys more than MaxKeys are at their limits, one new client in 20 is
// refused at its first request; when twice MaxKeys are, 4 in 10; when four times MaxKeys are, 9 in 10. (Under a
// FixedWindow it is one in 70, 1 in 6, and 6 in 10.) [Store.Stats] tells when it begins: watch its Overflowed.
package memstore

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// Config is what a [Store] is made from. The zero Config is ready for use.
type Config struct {
	// MaxKeys is how many counters the store holds at most, over all limits together: a key under two limits of
	// different Algorithm or Window counts twice, and a SlidingLog counts once for every millisecond it
	// remembers. 0 means 1<<20, which is about 28 MB of windows when full, and 16 MiB of sketches where a flood
	// needs them. Negative is an error.
	MaxKeys int
	// Name is what [Store.Stats] calls the store, in metrics too. It changes nothing else.
	Name string
}

const defaultMaxKeys = 1 << 20

// Store is a [limiter.Store] in memory. Make one with [New]; it is safe for concurrent use.
type Store struct {
	clock   clock
	seeds   [2]maphash.Seed // of scopes and of keys
	stripes []stripe        // a power of two of them
	tables  atomic.Pointer[[]*table]
	making  sync.Mutex // held while tables are made or dropped
	dropAt  int64      // when tables may be dropped next; under making
	batches sync.Pool  // of *batch
	name    string

	// All below changes only where counters come and go.
	budget  budget
	hand    atomic.Uint64 // the stripe that is looked at next for idle counters
	others  atomic.Uint64 // the stripe that was looked at last for another one's sake
	credit  atomic.Int64  // slots that newcomers may still have swept
	evicted atomic.Uint64
}

var _ limiter.StatsReporter = (*Store)(nil)

// New makes an empty Store. It takes its memory as keys arrive.
func New(cfg Config) (*Store, error) {
	if cfg.MaxKeys < 0 {
		return nil, fmt.Errorf("memstore: MaxKeys is %d, want 0 (%d) or more", cfg.MaxKeys, defaultMaxKeys)
	}
	if cfg.MaxKeys == 0 {
		cfg.MaxKeys = defaultMaxKeys
	}
	s := &Store{
		seeds:   [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		name:    cfg.Name,
		stripes: make([]stripe, stripesFor(cfg.MaxKeys)),
	}
	s.clock.started = time.Now()
	s.clock.wall.Store(max(0, s.clock.started.UnixNano()))
	s.tables.Store(new([]*table))
	s.budget.most = int64(cfg.MaxKeys)
	s.credit.Store(mostCredit)
	for i := range s.stripes {
		st := &s.stripes[i]
		st.store, st.index = s, i
		st.idleAt.Store(never)
		st.sweepAt.Store(never)
	}
	s.batches.New = func() any { return new(batch) }
	return s, nil
}

// Check reports whether the store can run l: it runs every valid limit. It implements [limiter.Checker].
func (s *Store) Check(l limiter.Limit) error { return l.Validate() }

// Reset forgets what the charges' counters hold, one after the other. What the sketch of a full store holds stays,
// because other keys share it.
func (s *Store) Reset(ctx context.Context, charges []limiter.Charge) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var faults []error
	for i := range charges {
		faults = append(faults, s.reset(&charges[i]))
	}
	return errors.Join(faults...)
}

func (s *Store) reset(c *limiter.Charge) error {
	if err := c.Limit.Validate(); err != nil {
		return err
	}
	t, hash := s.findTable(&c.Limit), s.hash(c.Scope, c.Key)
	if t == nil {
		return nil
	}
	st := s.stripeOf(hash)
	st.mu.Lock()
	defer st.mu.Unlock()
	if t.dropped {
		return nil
	}
	sh := st.shard(t, st.latest)
	if n, found := sh.find(hash); found {
		sh.remove(n)
	}
	return nil
}

// Stats implements [limiter.StatsReporter]. Capacity is MaxKeys, and Entries how much of it is in use, expired counters
// that were not swept yet included. If Evicted or Overflowed grow, MaxKeys is too small for the traffic or the traffic
// is a flood. While Evicted grows, clients below their limits are forgotten. While Overflowed grows, new clients may be
// refused early: it counts what is decided by the sketch, whether it is admitted or refused.
func (s *Store) Stats() limiter.StoreStats {
	used := s.budget.used.Load() // with what is being refused right now
	stats := limiter.StoreStats{
		Name: s.name, Entries: min(used, s.budget.most), Capacity: s.budget.most, Evicted: s.evicted.Load(),
	}
	for i := range s.stripes {
		stats.Overflowed += s.stripes[i].overflowed.Load()
	}
	return stats
}
