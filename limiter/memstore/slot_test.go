package memstore

import (
	"math"
	"math/bits"
	"testing"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
)

func FuzzStateWords(f *testing.F) {
	f.Add(int64(0), int64(1), uint8(15), uint64(math.MaxUint64))
	f.Add(int64(limiter.MaxCount), int64(limiter.MaxCount), uint8(0), uint64(1))
	f.Add(int64(1_800_000_000_000), int64(1<<52), uint8(3), uint64(0))
	f.Fuzz(func(t *testing.T, a, b int64, low uint8, hash uint64) {
		checkCounts(t, a&limiter.MaxCount, b&limiter.MaxCount, low&0xf)
		checkBucket(t, a&(1<<53-1), b&(1<<44-1), int64(hash)&limiter.MaxCount)
		checkEntry(t, a&(1<<44-1), b&limiter.MaxCount)
		checkLogSlot(t, uint32(a), uint32(b), b&limiter.MaxCount, int(a&math.MaxInt32))
		checkStrictSlot(t, uint64(a), uint64(b), low&0xf)
		if word := withLow(hash, low); !sameHash(word, hash) || uint8(word) != low || sameHash(word, hash^1<<8) {
			t.Errorf("withLow(%x, %d): got %x, which is not both of them", hash, low, word)
		}
	})
}

func checkCounts(t *testing.T, previous, current int64, class uint8) {
	p, c, k := unpackCounts(packCounts(previous, current, class))
	if p != previous || c != current || k != class {
		t.Errorf("counts: got %d, %d, %d, want %d, %d, %d", p, c, k, previous, current, class)
	}
}

func checkBucket(t *testing.T, debt, at, requests int64) {
	s := bucketSlot(make([]uint64, 3))
	s.set(debt, at, requests)
	if s.debt() != debt || s.at() != at || s.requests() != requests {
		t.Errorf("bucket: got %d, %d, %d, want %d, %d, %d", s.debt(), s.at(), s.requests(), debt, at, requests)
	}
}

func checkEntry(t *testing.T, time, units int64) {
	var a logArena
	first := a.add(0, time, units)
	second := a.add(first, time, 1)
	f, s := a.entry(first), a.entry(second)
	if f.time() != time || f.units() != units || f.next() != second || s.previous() != first {
		t.Errorf("entry: got %d units at %d, want %d at %d, linked", f.units(), f.time(), units, time)
	}
}

func checkLogSlot(t *testing.T, head, tail uint32, units int64, entries int) {
	s := logSlot(make([]uint64, 3))
	s.set(head, tail, units, entries)
	if s.head() != head || s.tail() != tail || s.units() != units || s.entries() != entries {
		t.Errorf("log: got %d, %d, %d, %d, want %d, %d, %d, %d",
			s.head(), s.tail(), s.units(), s.entries(), head, tail, units, entries)
	}
}

func checkStrictSlot(t *testing.T, a, b uint64, class uint8) {
	var want, got algorithm.Parts
	for i := range want.Counts {
		want.Counts[i] = int64(bits.RotateLeft64(a, 5*i)^b) & limiter.MaxCount
	}
	s := strictSlot{make([]uint64, 2), make([]uint64, strictTail)}
	s.set(&want, int64(b)&limiter.MaxCount, class)
	s.load(&got)
	total, _, k := unpackCounts(s.words[1])
	if got.Counts != want.Counts || total != int64(b)&limiter.MaxCount || k != class {
		t.Errorf("strict: got %d, %d, %d, want %d, %d, %d", got.Counts, total, k, want.Counts, b&limiter.MaxCount, class)
	}
	for i, n := range want.Counts {
		if got := s.count(int64(i)); got != n {
			t.Errorf("strict: part %d of %d: got %d, want %d", i, want.Counts, got, n)
		}
	}
}
