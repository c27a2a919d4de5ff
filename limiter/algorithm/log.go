package algorithm

import (
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/internal/arith"
)

// Log is the part of a SlidingLog's memory that refusals and refunds need.
type Log interface {
	// TakenAt returns when the unit was taken that is the nth oldest of those in use, in Unix milliseconds.
	// n is at least 1 and at most the units in use.
	TakenAt(n int64) int64
}

// LoadLog fills a zero Usage with what a SlidingLog holds at now: how many units were taken within the window that ends
// now, and when the newest of them was. A unit taken at t counts while t > now - window. A store whose clock went back
// passes the moments of future units as now. Moments are Unix milliseconds.
func (u *Usage) LoadLog(now, used, newest int64, log Log) {
	u.At, u.Current, u.Newest, u.Log = now, used, newest, log
}

// logRetry waits for as many of the oldest units to leave as the cost lacks room. Units that the same batch takes
// are part of the cost, so those to wait for are always in the log.
func (u *Usage) logRetry(l *limiter.Limit, cost int64) time.Duration {
	lacking := u.Current + cost - l.Requests
	return arith.Millis(u.Log.TakenAt(lacking) + l.WindowMillis() - u.At)
}

func (u *Usage) logReset(l *limiter.Limit, extra int64) time.Duration {
	switch {
	case extra > 0:
		return l.Window
	case u.Current == 0:
		return 0
	case u.returnedCurrent > 0:
		return arith.Millis(u.Log.TakenAt(u.Current) + l.WindowMillis() - u.At)
	}
	return arith.Millis(u.Newest + l.WindowMillis() - u.At)
}
