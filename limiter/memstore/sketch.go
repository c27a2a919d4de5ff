package memstore

import (
	"math"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
)

// sketch counts the newcomers of one shard that find no slot: a count-min sketch with conservative updates, for the
// current window and the one before. It may count too much, never too little. After two windows it forgets.
//
// A TokenBucket and a SlidingLog are counted in it by aligned windows too, both counted in full. That is at least
// what a log holds. For a bucket it is enough too: if no stretch of one window admits more than the smaller of Requests
// and Burst, its debt stays within its size.
type sketch struct {
	number  int64 // of the current window
	current cells
	before  cells
}

type cells [sketchRows][sketchCells]uint32

const (
	// 4 rows of 32 cells: of 16 newcomers in one shard, some 4,000 in all, one in 40 shares all its cells with
	// others.
	sketchRows  = 4
	sketchBits  = 5
	sketchCells = 1 << sketchBits
	maxDebt     = 1<<53 - 1 // of a TokenBucket
)

// cell returns where hash is counted in a row. It takes bits 20 to 39 of the hash: stripes are told apart by lower
// ones, slots by higher ones.
func cell(hash uint64, row int) uint64 {
	return hash >> (20 + sketchBits*row) % sketchCells
}

// advance moves on to the window of that number.
func (k *sketch) advance(number int64) {
	switch number - k.number {
	case 0:
		return
	case 1:
		k.before = k.current
	default:
		k.before = cells{}
	}
	k.current, k.number = cells{}, number
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
	switch sh.table.Algorithm {
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

// addOverflow counts what a batch spent of a counter that has no slot. What it gave back stays: the units in the sketch
// may be another key's.
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
