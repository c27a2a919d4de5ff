package memstore

import (
	"math"
	"testing"

	"github.com/httplimit/httplimit/limiter"
)

func FuzzStateWords(f *testing.F) {
	f.Add(int64(0), int64(1), uint8(15), uint64(math.MaxUint64))
	f.Add(int64(limiter.MaxCount), int64(limiter.MaxCount), uint8(0), uint64(1))
	f.Add(int64(1_800_000_000_000), int64(1<<52), uint8(3), uint64(0))
	f.Fuzz(func(t *testing.T, a, b int64, low uint8, hash uint64) {
		checkCounts(t, a&countMax, b&countMax, low&0xf)
		checkRefill(t, a&(1<<48-1), b&(1<<60-1))
		checkEntry(t, a&(1<<44-1), b&mostUnits)
		checkLogSlot(t, uint32(a), uint32(b), b&countMax, int(a&math.MaxInt32))
		if word := withLow(hash, low); !sameHash(word, hash) || uint8(word) != low || sameHash(word, hash^1<<8) {
			t.Errorf("withLow(%x, %d): got %x, which does not tell them", hash, low, word)
		}
	})
}

func checkCounts(t *testing.T, previous, current int64, level uint8) {
	p, c, l := unpackCounts(packCounts(previous, current, level))
	if p != previous || c != current || l != level {
		t.Errorf("counts: got %d, %d, %d, want %d, %d, %d", p, c, l, previous, current, level)
	}
}

// checkRefill: the refill may be rounded up, by less than 1 in 500, and never down.
func checkRefill(t *testing.T, at, refill int64) {
	a, r := unpackRefill(packRefill(at, refill))
	if a != at || r < refill || r-refill > refill/500 {
		t.Errorf("refill: got %d at %d, want %d at %d", r, a, refill, at)
	}
}

func checkEntry(t *testing.T, time, units int64) {
	var a arena
	first := a.add(0, time, units)
	second := a.add(first, time, 1)
	if a.time(first) != time || a.units(first) != units || a.next(first) != second || a.previous(second) != first {
		t.Errorf("entry: got %d units at %d, want %d at %d, linked", a.units(first), a.time(first), units, time)
	}
}

func checkLogSlot(t *testing.T, head, tail uint32, units int64, entries int) {
	s := logSlot(make([]uint64, 3))
	s.set(head, tail, units, entries)
	if s.head() != head || s.tail() != tail || s.units() != units || s.entries() != entries {
		t.Errorf("log: got %d, %d, %d, %d, want %d, %d, %d, %d", s.head(), s.tail(), s.units(), s.entries(), head, tail, units, entries)
	}
}
