package main

import (
	"math/bits"
	"time"
)

// histogram counts durations in steps of at most 1/32, which is 3 %.
type histogram [60 << steps]int64

const steps = 5 // as a power of two, within each power of two

func (h *histogram) count(d time.Duration) { h[bucket(d)]++ }

func (h *histogram) add(other *histogram) {
	for i, n := range other {
		h[i] += n
	}
}

// quantile is the duration that a share q of all does not exceed.
func (h *histogram) quantile(q float64) time.Duration {
	var total int64
	for _, n := range h {
		total += n
	}
	left := min(int64(q*float64(total)), total-1)
	for i, n := range h {
		if left -= n; left < 0 && total > 0 {
			return highest(i)
		}
	}
	return 0
}

func bucket(d time.Duration) int {
	n := uint64(max(0, d))
	shift := max(0, bits.Len64(n)-1-steps)
	return shift<<steps + int(n>>shift)
}

// highest is the longest duration that lies in a bucket.
func highest(i int) time.Duration {
	shift := max(0, i>>steps-1)
	return time.Duration(uint64(i-shift<<steps+1)<<shift - 1)
}
