package console

import (
	"sync"
	"testing"
)

func sumOf(seconds []tally) (sum tally) {
	for i := range seconds {
		sum.add(&seconds[i])
	}
	return sum
}

func TestHistoryKeepsSecondsApart(t *testing.T) {
	const begin = 1_800_000_000
	var h history
	for i := range uint32(2 * ringSeconds) {
		for range i%7 + 1 {
			h.count(uint(i), begin+i, allowedStore)
		}
		if i%10 == 0 {
			h.count(uint(i+3), begin+i, without(refusedCache))
		}
	}
	const last = begin + 2*ringSeconds - 1
	seconds := make([]tally, keptSeconds)
	h.read(last-keptSeconds+1, seconds)
	for k := range seconds {
		i := uint32(2*ringSeconds - keptSeconds + k)
		want := tally{allowedStore: uint64(i%7 + 1), passed: uint64(i%7 + 1)}
		if i%10 == 0 {
			want[refusedCache] = 1 // of requests that are counted elsewhere
		}
		if seconds[k] != want {
			t.Fatalf("second %d: got %v, want %v", i, seconds[k], want)
		}
	}
}

func TestHistoryBoundary(t *testing.T) {
	const second = 1_800_000_000
	var h history
	h.count(0, second, allowedStore)
	h.count(0, second+1, refusedStore)
	h.count(0, second, allowedStore) // read the clock before the boundary, counts behind it
	h.count(0, second+recentSlots, allowedStore)
	h.count(0, second, allowedStore) // too late for its second, and not lost
	seconds := make([]tally, recentSlots+1)
	h.read(second, seconds)
	want := map[int]tally{
		0: {allowedStore: 2, passed: 2}, 1: {refusedStore: 1, refused: 1}, recentSlots: {allowedStore: 2, passed: 2},
	}
	for i := range seconds {
		if seconds[i] != want[i] {
			t.Errorf("second %d: got %v, want %v", i, seconds[i], want[i])
		}
	}
}

func TestHistoryForgets(t *testing.T) {
	const second = 1_800_000_000
	var h history
	h.count(1, second, closed) // stays in its stripe, as nobody comes there again
	h.count(2, second, open)
	h.count(2, second+ringSeconds, open)
	h.count(1, second+5*ringSeconds, closed)
	seconds := make([]tally, keptSeconds)
	h.read(second+5*ringSeconds-keptSeconds+1, seconds)
	if got, want := sumOf(seconds), (tally{closed: 1, unavailable: 1}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Goroutines count in all stripes while time goes on and somebody reads: nothing is lost and nothing counted twice.
func TestHistoryParallel(t *testing.T) {
	const begin, steps, each = 1_800_000_000, 200, 500
	var h history
	for step := range uint32(steps) {
		var wg sync.WaitGroup
		for g := range uint(4) {
			wg.Go(func() {
				for i := range uint(each) {
					h.count(g+i, begin+step, allowedStore)
				}
			})
		}
		wg.Go(func() { h.read(begin, make([]tally, steps)) })
		wg.Wait()
	}
	seconds := make([]tally, steps)
	h.read(begin, seconds)
	for i := range seconds {
		if want := (tally{allowedStore: 4 * each, passed: 4 * each}); seconds[i] != want {
			t.Fatalf("second %d: got %v, want %v", i, seconds[i], want)
		}
	}
}
