package limitertest

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
)

// reference is a store that is as simple as a store can be: a mutex and a map. Its clock may be set both ways.
type reference struct {
	mu    sync.Mutex
	clock func() int64 // Unix milliseconds
	cells map[counter]*cell

	// Where mutants get in.
	load    func(c *cell, l limiter.Limit, now int64) algorithm.Usage
	kept    func(c *cell, l limiter.Limit, now int64) // after each batch that was spent; nil: nothing more
	name    func(counter) counter                     // nil: as it is
	borrows bool                                      // keeps strings without a copy
}

// cell is one counter.
type cell struct {
	number, current, previous int64   // SlidingWindow, FixedWindow
	at, debt                  int64   // TokenBucket
	log                       []taken // SlidingLog, oldest first
}

type taken struct{ at, units int64 }

// newReference returns a store and what moves its clock.
func newReference() (*reference, func(time.Duration)) {
	var now atomic.Int64
	now.Store(time.Date(2026, 11, 20, 10, 0, 0, 123e6, time.UTC).UnixMilli())
	r := &reference{clock: now.Load, cells: map[counter]*cell{}, load: (*cell).load}
	return r, func(d time.Duration) { now.Add(d.Milliseconds()) }
}

func (r *reference) Take(ctx context.Context, charges []limiter.Charge) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock()
	var (
		cells    []*cell
		counters []algorithm.Usage
		of       = make([]int, len(charges))
		place    = map[counter]int{}
	)
	for i := range charges {
		id := counterOf(&charges[i])
		at, known := place[id]
		if !known {
			at = len(counters)
			place[id] = at
			c := r.cell(id)
			cells = append(cells, c)
			counters = append(counters, r.load(c, charges[i].Limit, now))
		}
		of[i] = at
	}
	if !algorithm.Decide(charges, counters, of) {
		return false, nil
	}
	for i := range charges {
		cells[of[i]].save(charges[i].Limit, &counters[of[i]])
		if r.kept != nil {
			r.kept(cells[of[i]], charges[i].Limit, now)
		}
	}
	return true, nil
}

func (r *reference) Reset(ctx context.Context, charges []limiter.Charge) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range charges {
		delete(r.cells, r.named(counterOf(&charges[i])))
	}
	return nil
}

func (r *reference) named(id counter) counter {
	if r.name != nil {
		return r.name(id)
	}
	return id
}

func (r *reference) cell(id counter) *cell {
	id = r.named(id)
	c := r.cells[id]
	if c == nil {
		c = &cell{}
		if !r.borrows {
			id.scope, id.key = strings.Clone(id.scope), strings.Clone(id.key)
		}
		r.cells[id] = c
	}
	return c
}

// load is what c holds now. What was counted in the future, before the clock was set back, is moved to now for
// good, so that it ends in time even if no charge is spent.
func (c *cell) load(l limiter.Limit, now int64) (u algorithm.Usage) {
	switch l.Algorithm {
	case limiter.TokenBucket:
		c.at = min(c.at, now)
		u.LoadBucket(&l, now, c.at, c.debt)
		return u
	case limiter.SlidingLog:
		for len(c.log) > 0 && c.log[0].at <= now-l.WindowMillis() {
			c.log = c.log[1:]
		}
		var units, newest int64
		for i := range c.log {
			c.log[i].at = min(c.log[i].at, now)
			units += c.log[i].units
			newest = c.log[i].at
		}
		u.LoadLog(now, units, newest, c)
		return u
	}
	u.LoadWindow(&l, now, c.number, c.current, c.previous)
	if c.number > u.Number {
		c.number, c.current, c.previous = u.Number, u.Current, u.Previous
	}
	return u
}

// save may be called more than once for a batch.
func (c *cell) save(l limiter.Limit, u *algorithm.Usage) {
	switch l.Algorithm {
	case limiter.TokenBucket:
		if u.Spent != 0 || u.Returned != 0 {
			c.at, c.debt = u.At, u.DebtAfter(l)
		}
	case limiter.SlidingLog:
		c.giveBack(u.Returned)
		if u.Spent > 0 {
			c.log = append(c.log, taken{u.At, u.Spent})
		}
		u.Returned, u.Spent = 0, 0
	default:
		c.number, c.current, c.previous = u.Number, u.Current+u.Spent, u.Previous
	}
}

// giveBack takes n units off the log, the newest first.
func (c *cell) giveBack(n int64) {
	for n > 0 {
		newest := &c.log[len(c.log)-1]
		back := min(n, newest.units)
		newest.units -= back
		n -= back
		if newest.units == 0 {
			c.log = c.log[:len(c.log)-1]
		}
	}
}

// TakenAt implements algorithm.Log.
func (c *cell) TakenAt(n int64) int64 {
	for _, t := range c.log {
		if n -= t.units; n <= 0 {
			return t.at
		}
	}
	return 0
}
