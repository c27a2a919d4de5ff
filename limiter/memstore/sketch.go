package memstore

import (
	"math"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
)

// sketch counts the newcomers of one shard that find no slot: a count-min sketch with conservative updates,
// for the current window and the one before. It may count too much, never too little. It forgets what it holds when
// two windows have passed.
//
// A TokenBucket and a SlidingLog are counted in it by aligned windows too, both counted in full. That is at least
// what a log holds. A bucket that never admits more than the smaller of Requests and Burst in any stretch of a window
// never has a larger debt than it may.
type sketch struct {
	number  int64 // of the current window
	current [sketchRows][sketchCells]uint32
	before  [sketchRows][sketchCells]uint32
}

const (
	// 4 rows of 32 cells: of 16 newcomers in one shard, some 4,000 in all, one in 40 shares all its cells with
	// others.
	sketchRows  = 4
	sketchBits  = 5
	sketchCells = 1 << sketchBits
)

// cell returns where hash is counted in a row: of its bits, those between the stripe's and the slot's.
func cell(hash uint64, row int) uint64 {
	return hash >> (20 + sketchBits*row) % sketchCells
}

// advance moves on to the window of that number.
func (k *sketch) advance(number int64) {
	switch {
	case number == k.number:
		return
	case number == k.number+1:
		k.before = k.current
	default:
		clear(k.before[:])
	}
	clear(k.current[:])
	k.number = number
}

// end returns when everything has left the sketch.
func (k *sketch) end(window int64) int64 { return (k.number + 2) * window }

// counts returns at least what was counted for hash.
func (k *sketch) counts(hash uint64) (current, previous int64) {
	current, previous = math.MaxInt64, math.MaxInt64
	for row := range sketchRows {
		at := cell(hash, row)
		current = min(current, int64(k.current[row][at]))
		previous = min(previous, int64(k.before[row][at]))
	}
	return current, previous
}

// add counts units for hash in the current window. It raises no cell by more than it must.
func (k *sketch) add(hash uint64, units int64) {
	current, _ := k.counts(hash)
	current = min(current+units, limiter.MaxCount)
	for row := range sketchRows {
		at := cell(hash, row)
		k.current[row][at] = max(k.current[row][at], uint32(current))
	}
}

// loadOverflow loads what a counter holds that is in no slot.
func (sh *shard) loadOverflow(u *algorithm.Usage, l *limiter.Limit, hash uint64, now int64, r *logReader) {
	var number, current, previous int64
	if sh.overflow != nil {
		number = now / sh.table.window
		sh.overflow.advance(number)
		current, previous = sh.overflow.counts(hash)
	}
	units := min(current+previous, limiter.MaxCount)
	switch sh.table.algorithm {
	case limiter.TokenBucket:
		if units > 0 {
			units += max(0, l.Capacity()-l.Requests)
		}
		u.LoadBucket(l, now, now, min(units, maxDebt/sh.table.window)*sh.table.window)
	case limiter.SlidingLog:
		// As if taken when the window ends in which the sketch counted them.
		*r = logReader{newest: number * sh.table.window}
		if current > 0 {
			r.newest += sh.table.window
		}
		u.LoadLog(now, units, r.newest, r)
	default:
		u.LoadWindow(l, now, number, current, previous)
	}
}

// maxDebt is the largest debt of a bucket.
const maxDebt = 1<<53 - 1

// addOverflow counts what a batch spent of a counter that has no slot. What it gave back stays: the sketch does not know
// whose units it holds.
func (sh *shard) addOverflow(hash uint64, u *algorithm.Usage) {
	if u.Spent == 0 {
		return
	}
	number := u.At / sh.table.window
	if sh.overflow == nil {
		sh.overflow = &sketch{number: number}
	}
	sh.overflow.advance(number)
	sh.overflow.add(hash, u.Spent)
	sh.noteIdle(sh.overflow.end(sh.table.window))
	sh.stripe.store.overflowed.Add(1)
}
