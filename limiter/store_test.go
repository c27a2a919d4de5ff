package limiter_test

import (
	"context"
	"sync"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
)

// store is the simplest one: a map of counters, on a clock of the test's.
type store struct {
	now func() int64 // Unix milliseconds

	mu    sync.Mutex
	cells map[name]*cell
}

type name struct {
	scope, key string
	window     int64
	algorithm  limiter.Algorithm
}

func newStore(now func() int64) *store { return &store{now: now, cells: map[name]*cell{}} }

func nameOf(c *limiter.Charge) name {
	return name{c.Scope, c.Key, c.Limit.WindowMillis(), c.Limit.Algorithm}
}

func (s *store) Take(ctx context.Context, charges []limiter.Charge) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var counters []algorithm.Usage
	of, place := make([]int, len(charges)), map[name]int{}
	for i := range charges {
		id := nameOf(&charges[i])
		if _, known := place[id]; !known {
			if s.cells[id] == nil {
				s.cells[id] = &cell{}
			}
			place[id] = len(counters)
			counters = append(counters, s.cells[id].load(charges[i].Limit, s.now()))
		}
		of[i] = place[id]
	}
	if !algorithm.Decide(charges, counters, of) {
		return false, nil
	}
	for i := range charges {
		if id := nameOf(&charges[i]); place[id] >= 0 {
			s.cells[id].save(charges[i].Limit, &counters[of[i]])
			place[id] = -1 // once
		}
	}
	return true, nil
}

func (s *store) Reset(ctx context.Context, charges []limiter.Charge) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range charges {
		delete(s.cells, nameOf(&charges[i]))
	}
	return ctx.Err()
}

// cell is one counter: it keeps what the arithmetic says is to be kept.
type cell struct {
	number, current, previous int64
	at, debt                  int64
	log                       []int64 // when each unit in use was taken
}

func (c *cell) TakenAt(n int64) int64 { return c.log[n-1] }

func (c *cell) load(l limiter.Limit, now int64) (u algorithm.Usage) {
	switch l.Algorithm {
	case limiter.TokenBucket:
		u.LoadBucket(&l, now, c.at, c.debt)
	case limiter.SlidingLog:
		for len(c.log) > 0 && c.log[0] <= now-l.WindowMillis() {
			c.log = c.log[1:]
		}
		var newest int64
		if len(c.log) > 0 {
			newest = c.log[len(c.log)-1]
		}
		u.LoadLog(now, int64(len(c.log)), newest, c)
	default:
		u.LoadWindow(&l, now, c.number, c.current, c.previous)
	}
	return u
}

func (c *cell) save(l limiter.Limit, u *algorithm.Usage) {
	if u.Spent == 0 && u.Returned == 0 {
		return
	}
	switch l.Algorithm {
	case limiter.TokenBucket:
		c.at, c.debt = u.At, u.DebtAfter(l)
	case limiter.SlidingLog:
		c.log = c.log[:int64(len(c.log))-u.Returned]
		for range u.Spent {
			c.log = append(c.log, u.At)
		}
	default:
		c.number, c.current, c.previous = u.Number, u.Current+u.Spent, u.Previous
	}
}
