package algorithm

import (
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/internal/arith"
)

// Log is what refusals and refunds need of a SlidingLog.
type Log interface {
	// TakenAt returns when the nth oldest of the units in use was taken, in Unix milliseconds. n is at least 1 and at
	// most the number of units in use.
	TakenAt(n int64) int64
}

// LoadLog fills a zero Usage with what a SlidingLog holds at now: how many units were taken within the window that ends
// now, and when the newest of them was taken. A unit taken at t counts while t > now - window. Where the clock went
// back, the store treats units of the future as taken now. All moments are in Unix milliseconds.
func (u *Usage) LoadLog(now, used, newest int64, log Log) {
	u.At, u.Current, u.Newest, u.Log = now, used, newest, log
}

// logRetryAfter returns when as many of the oldest units have expired as the cost is above what remains. Units that the
// same batch takes are part of the cost, so the units to wait for are always in the log.
func (u *Usage) logRetryAfter(l *limiter.Limit, cost int64) time.Duration {
	lacking := u.Current + cost - l.Requests
	return arith.Millis(u.Log.TakenAt(lacking) + l.Window.Milliseconds() - u.At)
}

func (u *Usage) logResetAfter(l *limiter.Limit, extra int64) time.Duration {
	switch {
	case extra > 0:
		return l.Window
	case u.Current == 0:
		return 0
	case u.returnedCurrent > 0:
		return arith.Millis(u.Log.TakenAt(u.Current) + l.Window.Milliseconds() - u.At)
	}
	return arith.Millis(u.Newest + l.Window.Milliseconds() - u.At)
}
