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
