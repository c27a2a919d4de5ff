package memstore

import (
	"fmt"
	"slices"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
)

// maxWindows is how many pairs of Algorithm and Window a [Store] can have in use at the same time. Each costs about 150
// bytes a stripe, and a lookup goes through them in turn; programs have a handful.
const maxWindows = 64

// dropEvery is the least time between two attempts to drop tables, in milliseconds. Each stops the whole store for
// some milliseconds, if it is large, and a program with too many windows would attempt it at every request.
const dropEvery = 100

// table is what all counters of one Algorithm and Window have in common. The counters are in the stripes.
type table struct {
	limiter.Limit       // the first one that came, which is known to be valid
	window        int64 // milliseconds
	index         int   // of its shard in each stripe
	stride, tail  int   // words a slot, and in its tail, see slot.go
	windowed      bool  // the counters are counts of two windows
	tagged        bool  // the slots have tags that say of when they are, by units of that many milliseconds
	unit          int64 // a window, or a part of one
	partsBefore   int64 // of a StrictWindow: how many parts count before the present one
	budget        *budget
	// dropped is set under the locks of all stripes, so any one of them is enough to read it.
	dropped bool
}

// findTable returns the table of l, or nil if there is none yet.
func (s *Store) findTable(l *limiter.Limit) *table {
	for _, t := range *s.tables.Load() {
		if t.SameWindow(l) {
			return t
		}
	}
	return nil
}

// tableOf returns the table of a valid limit and makes it on first use.
func (s *Store) tableOf(l *limiter.Limit) (*table, error) {
	for _, t := range *s.tables.Load() {
		if t.Limit == *l {
			return t, nil
		}
	}
	if err := l.Validate(); err != nil {
		return nil, err
	}
	if t := s.findTable(l); t != nil {
		return t, nil
	}
	return s.makeTable(*l)
}

func (s *Store) makeTable(l limiter.Limit) (*table, error) {
	s.making.Lock()
	defer s.making.Unlock()
	if t := s.findTable(&l); t != nil {
		return t, nil
	}
	tables := slices.Clone(*s.tables.Load())
	if now := s.clock.now(); len(tables) == maxWindows && now >= s.dropAt {
		tables = s.dropTables(tables, now)
		s.dropAt = now + dropEvery
	}
	index := 0
	for slices.ContainsFunc(tables, func(t *table) bool { return t.index == index }) {
		index++
	}
	if index == maxWindows {
		return nil, fmt.Errorf("memstore: %d pairs of Algorithm and Window are in use, "+
			"which is as many as one store counts: use fewer windows or more stores", maxWindows)
	}
	t := &table{Limit: l, window: l.Window.Milliseconds(), index: index, stride: 3, budget: &s.budget}
	switch t.unit = t.window; l.Algorithm {
	case limiter.SlidingWindow, limiter.FixedWindow:
		t.windowed, t.tagged, t.stride = true, true, 2
	case limiter.StrictWindow:
		t.tagged, t.stride, t.tail = true, 2, strictTail
		t.unit, t.partsBefore = algorithm.PartsOf(l.Window)
	}
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
			st := &s.stripes[i]
			if t.index >= len(st.shards) || st.shards[t.index].table == nil {
				continue
			}
			sh := &st.shards[t.index]
			if sh.sweep(st.advance(now), false); sh.used > 0 || sh.overflow != nil {
				return false
			}
		}
		for i := range s.stripes {
			if st := &s.stripes[i]; t.index < len(st.shards) {
				st.shards[t.index] = shard{}
				st.plan()
			}
		}
		t.dropped = true
		return true
	})
}
