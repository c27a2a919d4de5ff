package memstore

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/httplimit/httplimit/limiter"
)

// TestSketchNeverTooLow compares a sketch with exact counts, through windows that pass and sizes that change.
func TestSketchNeverTooLow(t *testing.T) {
	for kept := 1; kept <= 3; kept++ {
		t.Run(fmt.Sprintf("kept=%d", kept), func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			k := &sketch{kept: kept, number: 1_000_000}
			k.resize(1)
			type window struct {
				hash   uint64
				number int64
			}
			want, hashes := map[window]int64{}, make([]uint64, 100)
			for i := range hashes {
				hashes[i] = random.Uint64()
			}
			number := k.number
			for step := range 5000 {
				switch random.IntN(50) {
				case 0:
					number += random.Int64N(int64(kept) + 2)
				case 1:
					k.resize(1 + random.IntN(300))
				default:
					w, units := window{hashes[random.IntN(len(hashes))], number}, 1+random.Int64N(5)
					if random.IntN(500) == 0 {
						units = limiter.MaxCount
					}
					k.advance(number)
					k.add(w.hash, units)
					want[w] = min(want[w]+units, limiter.MaxCount)
				}
				for _, hash := range hashes {
					for back := range int64(kept) {
						w := window{hash, number - back}
						if got := k.count(w.hash, w.number); got < want[w] || got > limiter.MaxCount {
							t.Fatalf("step %d, %d windows back: got %d units, want %d at least", step, back, got, want[w])
						}
					}
				}
			}
		})
	}
}

// TestSketchForgetsWindows: what is older than the windows kept is gone, also from the cells that newer ones use. The
// first window is that of the epoch, where the clock of a machine that does not know the time begins.
func TestSketchForgetsWindows(t *testing.T) {
	for kept := 1; kept <= 3; kept++ {
		for _, begun := range []int64{0, 10} {
			for passed := range int64(8) {
				k := &sketch{kept: kept, number: begun}
				k.resize(5)
				k.add(7, 3)
				k.advance(begun + passed)
				sum, want := int64(0), int64(0)
				for number := int64(-5); number < 30; number++ {
					sum += k.count(7, number)
				}
				if passed < int64(kept) {
					want = 3
				}
				if sum != want {
					t.Errorf("%d windows kept, window %d and %d later: got %d units, want %d",
						kept, begun, passed, sum, want)
				}
			}
		}
	}
}

// TestResizedSketchIsNoWorse: a sketch that shrinks step by step ends as one that had its last size from the beginning.
func TestResizedSketchIsNoWorse(t *testing.T) {
	hashes, random := make([]uint64, 100), rand.New(rand.NewPCG(3, 4))
	for i := range hashes {
		hashes[i] = random.Uint64()
	}
	for size := 1; size <= 200; size++ {
		shrunk, fixed := &sketch{kept: 2, number: 5}, &sketch{kept: 2, number: 5}
		shrunk.resize(200)
		fixed.resize(size)
		for _, hash := range hashes {
			shrunk.add(hash, limiter.MaxCount)
			fixed.add(hash, limiter.MaxCount)
		}
		for between := 199; between >= size; between -= 7 {
			shrunk.resize(between)
		}
		shrunk.resize(size)
		for range 1000 {
			hash := random.Uint64()
			if got, want := shrunk.count(hash, 5), fixed.count(hash, 5); got != want {
				t.Fatalf("%d cells a row: got %d units, want %d", size, got, want)
			}
		}
	}
}
