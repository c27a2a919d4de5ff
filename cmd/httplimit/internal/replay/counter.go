package replay

import (
	"cmp"
	"math"
	"slices"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
)

// counter is what is kept of one counter, whatever its algorithm. A limit always comes with the algorithm that the
// counter was made for.
type counter struct {
	// SlidingWindow and FixedWindow; a TokenBucket has its moment and its debt in the first two
	number, current, previous int64
	log                       *unitLog
	parts                     *algorithm.Parts
	ends                      int64 // from then on it is as if it had never been
}

// load returns what c holds at now. What lies in the future, because the clock went back, is moved to now for good.
func (c *counter) load(l *limiter.Limit, now int64) (u algorithm.Usage) {
	switch l.Algorithm {
	case limiter.TokenBucket:
		c.number = min(c.number, now)
		u.LoadBucket(l, now, c.number, c.current)
	case limiter.SlidingLog:
		if c.log == nil {
			c.log = &unitLog{}
		}
		c.log.expire(now-l.Window.Milliseconds(), now)
		u.LoadLog(now, c.log.inUse(), c.log.newest(), c.log)
	case limiter.StrictWindow:
		if c.parts == nil {
			c.parts = &algorithm.Parts{}
		}
		u.LoadStrict(l, now, c.parts)
	default:
		u.LoadWindow(l, now, c.number, c.current, c.previous)
		if c.number > u.Number {
			c.number, c.current, c.previous = u.Number, u.Current, u.Previous
		}
	}
	return u
}

// save keeps what a batch has left. Of several charges on one counter the first call saves what all have done.
func (c *counter) save(l *limiter.Limit, u *algorithm.Usage) {
	window := l.Window.Milliseconds()
	switch l.Algorithm {
	case limiter.TokenBucket:
		if u.Spent != 0 || u.Returned != 0 {
			c.number, c.current = u.At, u.DebtAfter(*l)
			c.ends = u.At + ceilDiv(c.current, max(1, l.Requests))
		}
	case limiter.SlidingLog:
		c.log.giveBack(u.Returned)
		c.log.add(u.At, u.Spent)
		c.ends = c.log.newest() + window
	case limiter.StrictWindow:
		length, before := algorithm.PartsOf(l.Window)
		c.parts.Counts[0] += u.Spent
		c.ends = (c.parts.Number + before + 1) * length
	default:
		c.number, c.current, c.previous = u.Number, u.Current+u.Spent, u.Previous
		c.ends = (c.number + 2) * window
	}
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }

// unitLog is when the units of a SlidingLog were taken, oldest first. It implements [algorithm.Log].
type unitLog struct {
	taken []takenUnits
	gone  int64 // units that have expired, ever: the sums go on from there
}

// takenUnits are units of one moment. sum is how many units were taken until then, them included, ever: so the nth
// oldest is found by halving.
type takenUnits struct{ at, sum int64 }

// expire drops what was taken until then, and moves what was taken after now to now.
func (l *unitLog) expire(until, now int64) {
	n := 0
	for n < len(l.taken) && min(l.taken[n].at, now) <= until {
		l.gone = l.taken[n].sum
		n++
	}
	if l.taken = l.taken[n:]; len(l.taken) == 0 {
		l.taken = nil
	}
	for i := len(l.taken) - 1; i >= 0 && l.taken[i].at > now; i-- {
		l.taken[i].at = now
	}
}

func (l *unitLog) inUse() int64 {
	if len(l.taken) == 0 {
		return 0
	}
	return l.taken[len(l.taken)-1].sum - l.gone
}

func (l *unitLog) newest() int64 {
	if len(l.taken) == 0 {
		return math.MinInt64 / 2
	}
	return l.taken[len(l.taken)-1].at
}

func (l *unitLog) add(at, n int64) {
	if n <= 0 {
		return
	}
	sum := l.gone + l.inUse() + n
	if last := len(l.taken) - 1; last >= 0 && l.taken[last].at == at {
		l.taken[last].sum = sum
		return
	}
	l.taken = append(l.taken, takenUnits{at, sum})
}

// giveBack takes n units off, the newest first.
func (l *unitLog) giveBack(n int64) {
	sum := l.gone + l.inUse() - n
	for last := len(l.taken) - 1; last >= 0 && n > 0; last-- {
		before := l.gone
		if last > 0 {
			before = l.taken[last-1].sum
		}
		if before < sum {
			l.taken[last].sum = sum
			return
		}
		l.taken = l.taken[:last]
	}
}

// TakenAt implements [algorithm.Log].
func (l *unitLog) TakenAt(n int64) int64 {
	i, _ := slices.BinarySearchFunc(l.taken, l.gone+n, func(t takenUnits, sum int64) int {
		return cmp.Compare(t.sum, sum)
	})
	if i == len(l.taken) {
		return 0
	}
	return l.taken[i].at
}
