// Package refstore is the reference store of the tests: a mutex and a map, on a clock that the test provides. Only
// tests import it. Those of package limitertest change single steps of it, to see that the suite notices.
package refstore

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
)

// Store implements [limiter.Store] for all algorithms. Its clock may go both ways.
type Store struct {
	Clock func() int64 // Unix milliseconds

	// Load returns what a counter holds at now.
	Load func(c *Counter, l limiter.Limit, now int64) algorithm.Usage
	// Saved is called after a counter of a batch that was taken has been saved. Nil: nothing is.
	Saved func(c *Counter, l limiter.Limit, now int64)
	// Rename returns the counter to use instead of another. Nil: none is replaced.
	Rename func(ID) ID
	// KeepsStrings: the strings of charges are kept without a copy.
	KeepsStrings bool

	Mu       sync.Mutex // guards Counters and what they hold
	Counters map[ID]*Counter
}

// ID is the identity of a counter.
type ID struct {
	Scope, Key string
	Algorithm  limiter.Algorithm
	Window     time.Duration
}

// IDOf returns the identity of the counter that a charge asks.
func IDOf(c *limiter.Charge) ID { return ID{c.Scope, c.Key, c.Limit.Algorithm, c.Limit.Window} }

// New returns an empty Store.
func New(clock func() int64) *Store {
	return &Store{Clock: clock, Load: (*Counter).Load, Counters: map[ID]*Counter{}}
}

// Take implements [limiter.Store].
func (s *Store) Take(ctx context.Context, charges []limiter.Charge) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if algorithm.AsksZero(charges) {
		return algorithm.TakeZero(charges, func(others []limiter.Charge) (bool, error) { return s.Take(ctx, others) })
	}
	s.Mu.Lock()
	defer s.Mu.Unlock()
	now := s.Clock()
	var (
		counters []*Counter
		usages   []algorithm.Usage
		of       = make([]int, len(charges))
		places   = map[ID]int{}
	)
	for i := range charges {
		id := IDOf(&charges[i])
		place, loaded := places[id]
		if !loaded {
			place = len(usages)
			places[id] = place
			c := s.Counter(id)
			counters = append(counters, c)
			usages = append(usages, s.Load(c, charges[i].Limit, now))
		}
		of[i] = place
	}
	if !algorithm.Decide(charges, usages, of) {
		return false, nil
	}
	for i := range charges {
		counters[of[i]].Save(charges[i].Limit, &usages[of[i]])
		if s.Saved != nil {
			s.Saved(counters[of[i]], charges[i].Limit, now)
		}
	}
	return true, nil
}

// Reset implements [limiter.Store].
func (s *Store) Reset(ctx context.Context, charges []limiter.Charge) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.Mu.Lock()
	defer s.Mu.Unlock()
	for i := range charges {
		delete(s.Counters, s.renamed(IDOf(&charges[i])))
	}
	return nil
}

// Counter returns the counter of that identity, and makes it if there is none. The caller holds Mu.
func (s *Store) Counter(id ID) *Counter {
	id = s.renamed(id)
	c := s.Counters[id]
	if c == nil {
		c = &Counter{}
		if !s.KeepsStrings {
			id.Scope, id.Key = strings.Clone(id.Scope), strings.Clone(id.Key)
		}
		s.Counters[id] = c
	}
	return c
}

func (s *Store) renamed(id ID) ID {
	if s.Rename != nil {
		return s.Rename(id)
	}
	return id
}
