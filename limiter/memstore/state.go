package memstore

import (
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
)

// load puts into u, which is zero, what the counter of hash holds now: in slot number n or, if it was not found, in
// the sketch or nowhere.
func (sh *shard) load(u *algorithm.Usage, l *limiter.Limit, hash uint64, n int, found bool, now int64, r *logReader) {
	if !found {
		sh.loadCrowded(u, l, hash, now, r)
		return
	}
	switch words := sh.slot(n); sh.table.algorithm {
	case limiter.TokenBucket:
		at, _ := unpackRefill(words[2])
		u.LoadBucket(l, now, at, int64(words[1]))
	case limiter.SlidingLog:
		sh.loadLog(u, n, now, r)
	default:
		previous, current, _ := unpackCounts(words[1])
		u.LoadWindow(l, now, sh.windowOf(words[0], now), current, previous)
	}
}

// window is the number of the window of now. It is remembered, because a division takes longer than all else here.
func (sh *shard) window(now int64) int64 {
	if elapsed := now - sh.latest*sh.table.window; elapsed < 0 || elapsed >= sh.table.window {
		sh.latest = now / sh.table.window
	}
	return sh.latest
}

// windowOf is the number of the window whose tag is in the first word of a slot.
func (sh *shard) windowOf(word uint64, now int64) int64 {
	number := sh.window(now)
	return number - int64(uint8(number)-uint8(word))
}

// save writes down what a batch left in u, whose counter was found in slot number n or not at all. c is the last
// charge that changed it.
func (sh *shard) save(hash uint64, n int, found bool, u *algorithm.Usage, c *limiter.Charge) {
	switch {
	case u.Returned != 0 && sh.holdsNothing(u, c):
		if found {
			sh.remove(n)
		}
		return
	case sh.table.algorithm == limiter.SlidingLog:
		n, found = sh.saveLog(hash, found, n, u)
	case !found:
		n, found = sh.admit(hash, u)
	}
	if !found {
		return
	}
	resetAfter := int64(c.ResetAfter / time.Millisecond)
	switch words := sh.slot(n); sh.table.algorithm {
	case limiter.TokenBucket:
		words[0] = withLow(hash, levelAfter(c))
		words[1] = uint64(u.DebtAfter(c.Limit))
		words[2] = packRefill(u.At, resetAfter)
	case limiter.SlidingLog:
		words[0] = withLow(hash, levelAfter(c))
	default:
		words[0] = withLow(hash, uint8(u.Number))
		words[1] = packCounts(u.Previous, u.Current+u.Spent, levelAfter(c))
	}
	if at := u.At + resetAfter; at < sh.due {
		sh.settles(at)
	}
}

// admit finds a slot for a newcomer. Where there is no room it counts the newcomer in the sketch, and reports false.
func (sh *shard) admit(hash uint64, u *algorithm.Usage) (n int, ok bool) {
	if u.Spent > 0 && sh.room(u.At) {
		return sh.insert(hash), true
	}
	sh.addToCrowd(hash, u)
	return 0, false
}

func (sh *shard) holdsNothing(u *algorithm.Usage, c *limiter.Charge) bool {
	if sh.table.algorithm == limiter.TokenBucket {
		return u.DebtAfter(c.Limit) == 0
	}
	return u.Current+u.Spent == 0 && u.Previous == 0
}

// settled is when the counter in slot number n no longer weighs on any decision: its share rounds to nothing, its
// bucket is full. A log has something to give sooner, when its first entry leaves.
func (sh *shard) settled(n int, now int64) int64 {
	w := sh.table.window
	switch words := sh.slot(n); sh.table.algorithm {
	case limiter.SlidingWindow:
		previous, current, _ := unpackCounts(words[1])
		if current > 0 {
			previous = current
		}
		return sh.ends(n, now) - (w-1)/previous
	case limiter.SlidingLog:
		return sh.entries.time(logSlot(words).head()) + w
	default:
		return sh.ends(n, now)
	}
}

// ends is when nothing is left of the counter in slot number n, not even what a State would show.
func (sh *shard) ends(n int, now int64) int64 {
	w := sh.table.window
	switch words := sh.slot(n); sh.table.algorithm {
	case limiter.TokenBucket:
		at, refill := unpackRefill(words[2])
		return at + refill
	case limiter.SlidingLog:
		return sh.entries.time(logSlot(words).tail()) + w
	case limiter.FixedWindow:
		return (sh.windowOf(words[0], now) + 1) * w
	default:
		end := (sh.windowOf(words[0], now) + 1) * w
		if _, current, _ := unpackCounts(words[1]); current > 0 {
			end += w
		}
		return end
	}
}

// share is how much of its limit the counter in slot number n still has in use, and whether it is at its limit.
func (sh *shard) share(n int, now int64) (share float64, limited bool) {
	w := sh.table.window
	switch words := sh.slot(n); sh.table.algorithm {
	case limiter.TokenBucket:
		at, refill := unpackRefill(words[2])
		return shareOf(uint8(words[0]), max(0, at+refill-now), refill)
	case limiter.SlidingLog:
		return shareOf(uint8(words[0]), w, w) // leaves entry by entry, so nothing is known before its end
	default:
		_, _, level := unpackCounts(words[1])
		if sh.windowOf(words[0], now) < sh.window(now) {
			return shareOf(level, w-now%w, w)
		}
		return shareOf(level, w, w)
	}
}

// release frees what slot number n has outside of it, and returns what it had of the budget.
func (sh *shard) release(n int) int64 {
	if sh.table.algorithm != limiter.SlidingLog {
		return 1
	}
	s := logSlot(sh.slot(n))
	sh.entries.drop(s.head(), s.tail(), s.entries())
	return int64(s.entries())
}
