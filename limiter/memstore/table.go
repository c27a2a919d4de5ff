package memstore

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// MaxWindows is how many pairs of Algorithm and Window a [Store] can have in use at the same time. Each costs about 100
// bytes a stripe, and a lookup goes through them in turn; programs have a handful.
const MaxWindows = 64

// dropEvery is the least time between two attempts to drop tables, in milliseconds. Each stops the whole store for
// some milliseconds, if it is large, and a program with too many windows would attempt it at every request.
const dropEvery = 100

// table is what all counters of one Algorithm and Window have in common. Where they are is in the stripes.
type table struct {
	algorithm limiter.Algorithm
	window    int64 // milliseconds
	length    time.Duration
	// mostRequests and mostBurst are the largest that a valid limit of this table may have.
	mostRequests, mostBurst int64
	index                   int // of its shard in each stripe
	stride                  int // words a slot
	budget                  *budget
	// dropped is set under the locks of all stripes, so any one of them is enough to read it.
	dropped bool
}

func newTable(l limiter.Limit, index int, b *budget) *table {
	t := &table{algorithm: l.Algorithm, window: l.WindowMillis(), length: l.Window, index: index, stride: 2, budget: b}
	if l.Algorithm == limiter.TokenBucket || l.Algorithm == limiter.SlidingLog {
		t.stride = 3
	}
	// Asked instead of known: the ranges are package limiter's.
	largest := func(set func(*limiter.Limit, int64)) int64 {
		probe := limiter.Limit{Requests: 1, Window: l.Window, Algorithm: l.Algorithm}
		return int64(sort.Search(limiter.MaxCount, func(n int) bool {
			set(&probe, int64(n)+1)
			return probe.Validate() != nil
		}))
	}
	t.mostRequests = largest(func(l *limiter.Limit, n int64) { l.Requests = n })
	t.mostBurst = largest(func(l *limiter.Limit, n int64) { l.Burst = n })
	return t
}

// takes reports whether l, of this table's algorithm and window, is valid.
func (t *table) takes(l *limiter.Limit) bool {
	return uint64(l.Requests-1) < uint64(t.mostRequests) && uint64(l.Burst) <= uint64(t.mostBurst)
}

// findTable returns the table of l, or nil if there is none yet.
func (s *Store) findTable(l limiter.Limit) *table {
	for _, t := range *s.tables.Load() {
		if t.length == l.Window && t.algorithm == l.Algorithm {
			return t
		}
	}
	return nil
}

// tableOf returns the table of a valid limit and makes it on first use.
func (s *Store) tableOf(l *limiter.Limit) (*table, error) {
	for _, t := range *s.tables.Load() {
		if t.length == l.Window && t.algorithm == l.Algorithm {
			if !t.takes(l) {
				return nil, l.Validate()
			}
			return t, nil
		}
	}
	return s.makeTable(*l)
}

func (s *Store) makeTable(l limiter.Limit) (*table, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	s.makeable.Lock()
	defer s.makeable.Unlock()
	if t := s.findTable(l); t != nil {
		return t, nil
	}
	tables := slices.Clone(*s.tables.Load())
	if now := s.clock.now(); len(tables) == MaxWindows && now >= s.dropAt {
		tables = s.dropTables(tables, now)
		s.dropAt = now + dropEvery
	}
	index := 0
	for slices.ContainsFunc(tables, func(t *table) bool { return t.index == index }) {
		index++
	}
	if index == MaxWindows {
		return nil, fmt.Errorf("memstore: %d pairs of Algorithm and Window are in use, which is as many as one store counts: use fewer windows or more stores", MaxWindows)
	}
	t := newTable(l, index, &s.budget)
	tables = append(tables, t)
	s.tables.Store(&tables)
	return t, nil
}

// dropTables returns the tables that still hold something. The others are marked as dropped, for callers that have
// already looked them up.
func (s *Store) dropTables(tables []*table, now int64) []*table {
	for i := range s.stripes {
		s.stripes[i].mu.Lock()
		defer s.stripes[i].mu.Unlock()
	}
	return slices.DeleteFunc(tables, func(t *table) bool {
		for i := range s.stripes {
			if st := &s.stripes[i]; t.index < len(st.shards) && !st.shards[t.index].idle(st.time(now)) {
				return false
			}
		}
		for i := range s.stripes {
			if st := &s.stripes[i]; t.index < len(st.shards) {
				st.shards[t.index] = shard{}
			}
		}
		t.dropped = true
		return true
	})
}
