package memstore

import (
	"math"
	"math/bits"
	"slices"

	"github.com/httplimit/httplimit/limiter"
)

// sketch counts the newcomers of one shard that find no slot: a count-min sketch with conservative updates, for the
// current window and some before it. It may count too much, never too little: each key has a cell in every row, and no
// cell holds less than any of its keys has spent. The smallest of the key's cells is what counts.
//
// Its rows can take any size at any time (see [cellOf]): so the shards of a stripe can share what the stripe has for
// sketches (see [shard.shareCells]).
type sketch struct {
	number int64    // of the current window
	kept   int      // windows that are remembered, the current one included
	size   int      // cells in a row
	cells  []uint32 // row by row; a cell is kept counts, that of a window at its number modulo kept

	fresh int // keys that were new in their window since the sketch last asked for more cells
	part  int // of the stripe's words that it should have; scratch memory of [shard.shareCells]
}

// sketchRows is how many cells a key has. A newcomer is refused if others have filled all of them. Three rows of as
// many bytes refuse fewer (4 % for 5 %) while the sketch has a quarter as many keys as MaxKeys, and more (48 % for 40
// %) when it has as many.
const sketchRows = 2

// cellOf returns which cell of a row of that size a hash has. The sizes up to a power of two split the cells of half of
// it one after the other (linear hashing): so a cell of one size lies within a single cell of any smaller one.
func cellOf(hash uint64, size int) int {
	whole := 1 << bits.Len(uint(size-1)) // the next power of two
	cell := int(hash & uint64(whole-1))
	if cell >= size {
		cell -= whole / 2
	}
	return cell
}

// at returns where in cells the count of hash in a window is. Each row takes 24 bits of the hash, but not of the lowest
// 16: they tell stripes apart, so keys of one shard share them.
func (k *sketch) at(row int, hash uint64, number int64) int {
	cell := cellOf(hash>>(16+24*row)&(1<<24-1), k.size)
	return (row*k.size+cell)*k.kept + int(number%int64(k.kept))
}

// count returns at least what was counted for hash in the window of that number: 0 if it is not kept, or lies before
// the epoch.
func (k *sketch) count(hash uint64, number int64) int64 {
	if number > k.number || number <= k.number-int64(k.kept) || number < 0 {
		return 0
	}
	least := uint32(math.MaxUint32)
	for row := range sketchRows {
		least = min(least, k.cells[k.at(row, hash, number)])
	}
	return int64(least)
}

// add counts units for hash in the current window. It raises no cell by more than it must.
func (k *sketch) add(hash uint64, units int64) {
	before := k.count(hash, k.number)
	if before == 0 {
		k.fresh++
	}
	after := uint32(min(before+units, limiter.MaxCount))
	for row := range sketchRows {
		at := k.at(row, hash, k.number)
		k.cells[at] = max(k.cells[at], after)
	}
}

// advance moves on to the window of that number, and forgets those that are no longer kept.
func (k *sketch) advance(number int64) {
	for gone := max(k.number+1, number-int64(k.kept)+1); gone <= number; gone++ {
		for at := int(gone % int64(k.kept)); at < len(k.cells); at += k.kept {
			k.cells[at] = 0
		}
	}
	k.number = number
}

// end returns when everything has left the sketch.
func (k *sketch) end(window int64) int64 { return (k.number + int64(k.kept)) * window }

// resize gives each row that many cells. A cell gets the largest counts of those that become one, or those of the cell
// that it was a part of.
func (k *sketch) resize(size int) {
	old := *k
	k.size, k.cells = size, make([]uint32, sketchRows*size*k.kept)
	if old.size == 0 {
		return
	}
	for row := range sketchRows {
		for cell := range max(old.size, size) {
			from := (row*old.size + cellOf(uint64(cell), old.size)) * k.kept
			to := (row*size + cellOf(uint64(cell), size)) * k.kept
			for window := range k.kept {
				k.cells[to+window] = max(k.cells[to+window], old.cells[from+window])
			}
		}
	}
}

// sizeOf returns how many cells a row has of a sketch of that many words: at least one.
func (k *sketch) sizeOf(words int) int { return max(1, words/(sketchRows*k.kept)) }

// inUse returns how many words the sketch would fill if all its rows were as full as the first.
func (k *sketch) inUse() (words int) {
	for at := 0; at < k.size*k.kept; at += k.kept {
		if slices.Max(k.cells[at:at+k.kept]) > 0 {
			words += sketchRows * k.kept
		}
	}
	return words
}
