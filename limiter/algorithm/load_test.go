package algorithm_test

import (
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
)

// noon is a window boundary of every window that the tests use.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).UnixMilli()

const (
	day  = 24 * time.Hour
	year = 366 * day // the longest window
)

func windowUsage(l limiter.Limit, now, number, current, previous int64) (u algorithm.Usage) {
	u.LoadWindow(&l, now, number, current, previous)
	return u
}

func bucketUsage(l limiter.Limit, now, at, debt int64) (u algorithm.Usage) {
	u.LoadBucket(&l, now, at, debt)
	return u
}

func fixed(n int64, window time.Duration) limiter.Limit {
	return limiter.Limit{Requests: n, Window: window, Algorithm: limiter.FixedWindow}
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
