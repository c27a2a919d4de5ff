package memstore

import (
	"math/bits"

	"github.com/httplimit/httplimit/limiter"
)

// The words of a slot. In each the upper 56 bits of the first word are those of the hash; the lower 8 bits of a hash
// are its stripe's.
//
//	SlidingWindow, FixedWindow   hash 56, window number mod 256 8 | previous 30, current 30, level 4
//	TokenBucket                  hash 56, level 8                 | debt 64    | at 48, refill 16
//	SlidingLog                   hash 56, level 8                 | head 32, tail 32 | units 32, entries 32
//
// A second word of 0 is a free slot: a counter that holds nothing is not kept.
const (
	lowByte  = 1<<8 - 1
	countMax = limiter.MaxCount // 30 bits
)

func sameHash(word, hash uint64) bool { return word^hash <= lowByte }

func withLow(hash uint64, low uint8) uint64 { return hash&^lowByte | uint64(low) }

func windowed(a limiter.Algorithm) bool {
	return a == limiter.SlidingWindow || a == limiter.FixedWindow
}

func packCounts(previous, current int64, level uint8) uint64 {
	return uint64(previous)<<34 | uint64(current)<<4 | uint64(level)
}

func unpackCounts(word uint64) (previous, current int64, level uint8) {
	return int64(word >> 34), int64(word >> 4 & countMax), uint8(word & 0xf)
}

// packRefill keeps at (Unix milliseconds) exactly and refill (milliseconds) rounded up.
func packRefill(at, refill int64) uint64 { return uint64(at)<<16 | uint64(ceilFloat16(refill)) }

func unpackRefill(word uint64) (at, refill int64) {
	return int64(word >> 16), fromFloat16(uint16(word))
}

// ceilFloat16 is the least number not below n that has 10 significant bits, as 6 bits of exponent and 10 of mantissa:
// exact to 1023, 0.2 % too large at most. n is at least 0 and below 2^62.
func ceilFloat16(n int64) uint16 {
	const mantissa = 10
	exponent := max(0, bits.Len64(uint64(n))-mantissa)
	m := (n + 1<<exponent - 1) >> exponent
	if m == 1<<mantissa {
		m >>= 1
		exponent++
	}
	return uint16(exponent)<<mantissa | uint16(m)
}

func fromFloat16(f uint16) int64 { return int64(f&(1<<10-1)) << (f >> 10) }
