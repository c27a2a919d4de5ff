package replay

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
)

// Store is a [limiter.Store] on the clock of a log: it decides by package algorithm, as all stores do, at the moment
// that was set last. What has ended is dropped, so that it holds the clients of about the last window. It is safe for
// concurrent use.
type Store struct {
	mu       sync.Mutex
	now      int64 // Unix milliseconds
	tables   []table
	keys     map[string]*keyUse
	last     *keyUse // asked for last: rules of one request mostly have the same key
	counters int     // of all keys
	sweepAt  int     // how many counters there have to be for the next look at what has ended

	batch []*counter
	usage []algorithm.Usage
	of    []int
}

// table is one limit. There are few limits and many keys.
type table struct {
	scope     string
	algorithm limiter.Algorithm
	window    time.Duration
}

// keyUse is what is kept of one key.
type keyUse struct {
	key      string
	counters []*counter   // by table; nil where there is none
	clients  []*clientUse // by rule of the Replay; nil where there is none
}

// minSweep is how many counters are kept without a look at what has ended.
const minSweep = 4096

// NewStore returns an empty Store. Its clock stands at 1970.
func NewStore() *Store { return &Store{keys: map[string]*keyUse{}, sweepAt: minSweep} }

// SetClock sets the moment of the decisions that follow, in Unix milliseconds.
func (s *Store) SetClock(now int64) {
	s.mu.Lock()
	s.now = now
	s.mu.Unlock()
}

// Take implements [limiter.Store].
func (s *Store) Take(ctx context.Context, charges []limiter.Charge) (taken bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if algorithm.AsksZero(charges) {
		return algorithm.TakeZero(charges, func(others []limiter.Charge) (bool, error) { return s.Take(ctx, others) })
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load(charges)
	if !algorithm.Decide(charges, s.usage, s.of) {
		return false, nil
	}
	for i := range charges {
		u := &s.usage[s.of[i]]
		if first := s.firstOf(i); first {
			s.batch[s.of[i]].save(&charges[i].Limit, u)
		}
	}
	return true, nil
}

// load finds the counters of a batch. Charges on one counter share it.
func (s *Store) load(charges []limiter.Charge) {
	s.batch, s.usage, s.of = s.batch[:0], s.usage[:0], s.of[:0]
	for i := range charges {
		c := s.counter(&charges[i])
		place := len(s.batch)
		for j, other := range s.batch {
			if other == c {
				place = j
			}
		}
		if s.of = append(s.of, place); place == len(s.batch) {
			s.batch = append(s.batch, c)
			s.usage = append(s.usage, c.load(&charges[i].Limit, s.now))
		}
	}
}

// firstOf reports whether charge i is the first on its counter.
func (s *Store) firstOf(i int) bool {
	for j := range i {
		if s.of[j] == s.of[i] {
			return false
		}
	}
	return true
}

// table returns the number of the limit that a charge asks.
func (s *Store) table(c *limiter.Charge) int {
	for i := range s.tables {
		t := &s.tables[i]
		if t.window == c.Limit.Window && t.algorithm == c.Limit.Algorithm && t.scope == c.Scope {
			return i
		}
	}
	s.tables = append(s.tables, table{strings.Clone(c.Scope), c.Limit.Algorithm, c.Limit.Window})
	return len(s.tables) - 1
}

// use returns what is kept of a key, and keeps something if it was unknown.
func (s *Store) use(key string) *keyUse {
	if s.last != nil && s.last.key == key {
		return s.last
	}
	k := s.keys[key]
	if k == nil {
		k = &keyUse{key: strings.Clone(key)}
		s.keys[k.key] = k
	}
	s.last = k
	return k
}

// counter returns the counter that a charge asks, and makes it if there is none.
func (s *Store) counter(charge *limiter.Charge) *counter {
	if s.counters >= s.sweepAt {
		s.sweep()
	}
	table, k := s.table(charge), s.use(charge.Key)
	for len(k.counters) <= table {
		k.counters = append(k.counters, nil)
	}
	if k.counters[table] == nil {
		k.counters[table] = &counter{}
		s.counters++
	}
	return k.counters[table]
}

// sweep drops the counters that have ended, and keys of which nothing is left. The next one comes when there are twice
// as many counters as are left, so that it costs each new counter the same.
func (s *Store) sweep() {
	for key, k := range s.keys {
		left := len(k.clients)
		for i, c := range k.counters {
			switch {
			case c == nil:
			case c.ends <= s.now && !s.inBatch(c):
				k.counters[i] = nil
				s.counters--
			default:
				left++
			}
		}
		if left == 0 {
			delete(s.keys, key)
		}
	}
	s.last = nil
	s.sweepAt = max(minSweep, 2*s.counters)
}

func (s *Store) inBatch(c *counter) bool {
	for _, other := range s.batch {
		if other == c {
			return true
		}
	}
	return false
}

// Reset implements [limiter.Store].
func (s *Store) Reset(ctx context.Context, charges []limiter.Charge) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range charges {
		table, k := s.table(&charges[i]), s.use(charges[i].Key)
		if table < len(k.counters) && k.counters[table] != nil {
			k.counters[table] = nil
			s.counters--
		}
	}
	return nil
}
