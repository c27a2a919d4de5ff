package memstore

import (
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
)

const (
	// wordsEach is how many words of 4 bytes the sketches of a store have together, for each of MaxKeys.
	wordsEach = 4
	maxDebt   = 1<<53 - 1 // of a TokenBucket
)

// windowsInSketch returns how many windows a sketch has to remember. A TokenBucket, a SlidingLog and a StrictWindow are
// counted in it by aligned windows too, the current and the previous one, both in full. That is at least what a log
// holds, and as much as a StrictWindow needs for its promise. For a bucket it is enough too: if no stretch of one
// window admits more than the smaller of Requests and Burst, its debt stays within its size.
func windowsInSketch(a limiter.Algorithm) int {
	if a == limiter.FixedWindow {
		return 1
	}
	return 2
}

// loadOverflow loads what a counter holds that is in no slot, and notes in c that other keys may have part in it. A
// Shadow charge finds nothing: it refuses nobody, so it is better counted too low than at the price of other keys. Nor
// is a bucket that was found here above its capacity, where it would refuse even a Cost of 0: the sketch is too
// uncertain to say that of a key.
func (sh *shard) loadOverflow(u *algorithm.Usage, c *limiter.Charge, hash uint64, now int64, r *logReader) {
	var number, current, previous int64
	l := &c.Limit
	if k := sh.overflow; k != nil && c.Mode != limiter.Shadow {
		number = now / sh.table.window
		current, previous = k.count(hash, number), k.count(hash, number-1)
	}
	units := min(current+previous, limiter.MaxCount)
	if units > 0 {
		sh.stripe.overflowed.Add(1)
		c.Shared = true
	}
	switch sh.table.Algorithm {
	case limiter.TokenBucket:
		if units > 0 {
			units = min(units+max(0, l.Capacity()-l.Requests), l.Capacity())
		}
		u.LoadBucket(l, now, now, min(units, maxDebt/sh.table.window)*sh.table.window)
	case limiter.SlidingLog:
		// As if taken when the window ends in which the sketch counted them.
		*r = logReader{newest: number * sh.table.window}
		if current > 0 {
			r.newest += sh.table.window
		}
		u.LoadLog(now, units, r.newest, r)
	case limiter.StrictWindow:
		sh.overflowParts(u.Parts, number, current, previous, now)
		u.LoadStrict(l, now, u.Parts)
	default:
		u.LoadWindow(l, now, number, current, previous)
	}
}

// addOverflow counts what a batch spent of a counter that has no slot. c is the last charge that changed it. What it
// gave back stays: the units in the sketch may be another key's.
func (sh *shard) addOverflow(hash uint64, u *algorithm.Usage, c *limiter.Charge) {
	if u.Spent == 0 || c.Mode == limiter.Shadow {
		return
	}
	number := u.At / sh.table.window
	if sh.overflow == nil {
		sh.overflow = &sketch{number: number, kept: windowsInSketch(sh.table.Algorithm)}
		sh.shareCells(u.At)
	}
	k := sh.overflow
	k.advance(number)
	if k.fresh > k.size/4 { // one newcomer in 20 then finds all its cells in use
		sh.shareCells(u.At)
	}
	k.add(hash, u.Spent)
	sh.noteIdle(k.end(sh.table.window))
	if u.Current+u.Previous+u.Debt == 0 { // else counted when it was loaded
		sh.stripe.overflowed.Add(1)
	}
}

// shareCells asks for more cells for the sketch of this shard, from those of the same stripe. Each should have three
// times the words that it has in use and a little more. Where those are too many, none gets more than the same bound:
// so a flood of one limit takes nothing from others that have few newcomers. What is left goes to the sketch that asks.
// It should grow by much at a time, as both halves of a cell that is split hold what the whole held; so it stays as it
// is if it would not grow by a quarter.
func (sh *shard) shareCells(now int64) {
	st, own := sh.stripe, sh.overflow
	own.fresh = 0
	all := st.store.sketchWords()
	if own.size == own.sizeOf(all) {
		return
	}
	sketches := make([]*sketch, 0, maxWindows)
	for i := range st.shards {
		switch other := &st.shards[i]; {
		case other.overflow == nil:
		case other != sh && other.overflow.end(other.table.window) <= now:
			other.overflow = nil
		default:
			other.overflow.part = 3*other.overflow.inUse() + all/32 + 1
			sketches = append(sketches, other.overflow)
		}
	}
	own.part += boundParts(sketches, all)
	if 4*own.sizeOf(own.part) < 5*own.size {
		return
	}
	for _, k := range sketches {
		k.resize(k.sizeOf(k.part))
	}
}

// boundParts lowers the largest parts until all of them together are at most all words, and returns what is left.
func boundParts(sketches []*sketch, all int) (left int) {
	for most := all; ; most -= (most + 15) / 16 {
		left = all
		for _, k := range sketches {
			k.part = min(k.part, most)
			left -= k.part
		}
		if left >= 0 {
			return left
		}
	}
}

// sketchWords returns how many words the sketches of a stripe have together.
func (s *Store) sketchWords() int {
	return wordsEach * int(s.budget.most/int64(len(s.stripes)))
}
