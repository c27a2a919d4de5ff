// Package arith is the integer arithmetic that limits, algorithms and stores share. Nothing in it overflows, and no
// argument is negative unless a function says so.
package arith

import (
	"math/bits"
	"time"
)

// MulDiv returns a x b / c, rounded down, for a result below 2^63.
func MulDiv(a, b, c int64) int64 { return MulAddDiv(a, b, 0, c) }

// MulAddDiv returns (a x b + d) / c, rounded down, for a result below 2^63.
func MulAddDiv(a, b, d, c int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	lo, carry := bits.Add64(lo, uint64(d), 0)
	quotient, _ := bits.Div64(hi+carry, lo, uint64(c))
	return int64(quotient)
}

// CeilDiv returns a / b, rounded up.
func CeilDiv(a, b int64) int64 {
	if a == 0 {
		return 0
	}
	return (a-1)/b + 1
}

// Millis returns ms milliseconds as a Duration, or the longest Duration of whole milliseconds, which is below
// [math.MaxInt64], if that is less. ms may be negative.
func Millis(ms int64) time.Duration {
	const most = int64(1<<63-1) / int64(time.Millisecond)
	return time.Duration(min(ms, most)) * time.Millisecond
}
