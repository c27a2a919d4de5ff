package memstore

import (
	"math"
	"math/bits"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
	"github.com/httplimit/httplimit/limiter/internal/arith"
)

// The words of a slot. In each the upper 56 bits of the first word are those of the hash; the lower 8 bits of a hash
// are its stripe's. Times are Unix milliseconds, for 500 years.
//
//	SlidingWindow, FixedWindow   hash 56, window number mod 256 8 | previous 30, current 30, usage class 4
//	TokenBucket                  hash 56, usage class 8 | debt 54, requests (high) 10 | time 44, requests (low) 20
//	SlidingLog                   hash 56, usage class 8 | head 32, tail 32 | units 32, entries 32
//	StrictWindow                 hash 56, part number mod 256 8 | all parts 30, newest part 30, usage class 4
//	                             and in its tail: the part before 32, the one before that 32 | ... five such words
//
// A second word of 0 is a free slot: a counter that holds nothing is not kept.
const (
	lowByte = 1<<8 - 1
	lowBits = 20 // of requests
)

func withLow(hash uint64, low uint8) uint64 { return hash&^lowByte | uint64(low) }

func packCounts(previous, current int64, class uint8) uint64 {
	return uint64(previous)<<34 | uint64(current)<<4 | uint64(class)
}

func unpackCounts(word uint64) (previous, current int64, class uint8) {
	return int64(word >> 34), int64(word >> 4 & limiter.MaxCount), uint8(word & 0xf)
}

// bucketSlot is the slot of a TokenBucket: its debt at a moment, and the rate at which it refilled then.
type bucketSlot []uint64

func (s bucketSlot) debt() int64     { return int64(s[1] >> 10) }
func (s bucketSlot) at() int64       { return int64(s[2] >> lowBits) }
func (s bucketSlot) requests() int64 { return int64(s[1]&(1<<10-1)<<lowBits | s[2]&(1<<lowBits-1)) }
func (s bucketSlot) set(debt, at, requests int64) {
	s[1] = uint64(debt)<<10 | uint64(requests)>>lowBits
	s[2] = uint64(at)<<lowBits | uint64(requests)&(1<<lowBits-1)
}

// refill returns how long the bucket takes to be full again after at.
func (s bucketSlot) refill() int64 { return arith.CeilDiv(s.debt(), max(1, s.requests())) }

// logSlot is the slot of a SlidingLog: the ends of its list, the units in it, and how many entries they are.
type logSlot []uint64

func (s logSlot) head() uint32 { return uint32(s[1] >> 32) }
func (s logSlot) tail() uint32 { return uint32(s[1]) }
func (s logSlot) units() int64 { return int64(s[2] >> 32) }
func (s logSlot) entries() int { return int(uint32(s[2])) }
func (s logSlot) set(head, tail uint32, units int64, entries int) {
	s[1] = uint64(head)<<32 | uint64(tail)
	s[2] = uint64(units)<<32 | uint64(entries)
}

// load puts into u, which is zero but for space for the Parts of a StrictWindow, what the counter of hash holds now: in
// slot number n or, if it was not found, in the sketch or nowhere. c is the first charge of a batch that asks for it.
func (sh *shard) load(u *algorithm.Usage, c *limiter.Charge, hash uint64, n int, found bool, now int64, r *logReader) {
	if !found {
		sh.loadOverflow(u, c, hash, now, r)
		return
	}
	l, words := &c.Limit, sh.slot(n)
	switch sh.table.Algorithm {
	case limiter.TokenBucket:
		u.LoadBucket(l, now, bucketSlot(words).at(), bucketSlot(words).debt())
	case limiter.SlidingLog:
		s := logSlot(words)
		*r = logReader{arena: &sh.log, head: s.head(), tail: s.tail(), units: s.units()}
		u.LoadLog(now, s.units(), sh.log.entry(s.tail()).time(), r)
	case limiter.StrictWindow:
		u.Parts.Number = sh.numberOf(words[0], now)
		strictSlot{words, sh.tail(n)}.load(u.Parts)
		u.LoadStrict(l, now, u.Parts)
	default:
		previous, current, _ := unpackCounts(words[1])
		u.LoadWindow(l, now, sh.numberOf(words[0], now), current, previous)
	}
}

// save writes down what a batch left in u, whose counter was found in slot number n or not at all. c is the last
// charge that changed it.
func (sh *shard) save(hash uint64, n int, found bool, u *algorithm.Usage, c *limiter.Charge) {
	switch {
	case u.Spent+u.Current+u.Previous+u.Debt == 0:
		if found {
			sh.remove(n)
		}
		return
	case sh.table.Algorithm == limiter.SlidingLog:
		n, found = sh.saveLog(hash, n, found, u, c)
	case !found && u.Spent > 0 && sh.makeSpace(u.At, standsOut(u, c)):
		n, found = sh.insert(hash), true
	}
	if !found {
		sh.addOverflow(hash, u, c)
		return
	}
	words, class := sh.slot(n), usageClass(c.Limit.Capacity(), c.Current, c.Remaining, c.Cost)
	words[0] = withLow(hash, class)
	switch sh.table.Algorithm {
	case limiter.TokenBucket:
		bucketSlot(words).set(u.DebtAfter(c.Limit), u.At, c.Limit.Requests)
	case limiter.SlidingWindow, limiter.FixedWindow:
		words[0] = withLow(hash, uint8(u.Number))
		words[1] = packCounts(u.Previous, u.Current+u.Spent, class)
	case limiter.StrictWindow:
		words[0] = withLow(hash, uint8(u.Number))
		u.Parts.Counts[0] += u.Spent
		strictSlot{words, sh.tail(n)}.set(u.Parts, u.Current+u.Spent, class)
	}
	sh.noteIdle(u.At + int64(c.ResetAfter/time.Millisecond))
}

// numberOf returns the number of the window or the part whose tag is in the first word of a slot.
func (sh *shard) numberOf(word uint64, now int64) int64 {
	number := sh.numberAt(now)
	return number - int64(uint8(number)-uint8(word))
}

// expires returns when the counter in slot number n will be idle, and when it will have ended. A log counts as idle
// when its first entry leaves.
func (sh *shard) expires(n int, now int64) (idle, end int64) {
	words, w := sh.slot(n), sh.table.window
	switch sh.table.Algorithm {
	case limiter.TokenBucket:
		end = bucketSlot(words).at() + bucketSlot(words).refill()
		return end, end
	case limiter.SlidingLog:
		s := logSlot(words)
		return sh.log.entry(s.head()).time() + w, sh.log.entry(s.tail()).time() + w
	case limiter.StrictWindow:
		newest := sh.numberOf(words[0], now) - strictSlot{words, sh.tail(n)}.newest()
		end = (newest + sh.table.partsBefore + 1) * sh.table.unit
		return end, end
	}
	end = (sh.numberOf(words[0], now) + 1) * w
	if sh.table.Algorithm == limiter.FixedWindow {
		return end, end
	}
	previous, current, _ := unpackCounts(words[1])
	if current > 0 {
		previous, end = current, end+w
	}
	return end - (w-1)/previous, end // when its weight rounds to 0
}

// share returns how much of its limit the counter in slot number n has in use, and whether it is at its limit.
func (sh *shard) share(n int, now int64) (share float64, limited bool) {
	words, whole := sh.slot(n), sh.table.window
	class, left := uint8(words[0]), int64(0)
	if sh.table.tagged {
		_, _, class = unpackCounts(words[1])
	}
	switch _, end := sh.expires(n, now); {
	case end <= now:
		return 0, false
	case sh.table.Algorithm == limiter.TokenBucket:
		left, whole = end-now, bucketSlot(words).refill()
	case sh.table.Algorithm == limiter.SlidingWindow:
		left = min(end-now, whole)
	default:
		// A FixedWindow does not decay, a log does so entry by entry, which its slot does not show, and a StrictWindow part
		// by part, of which its class says nothing.
		left = whole
	}
	return classShare(class, left, whole)
}

// A usage class is what a slot remembers, in 4 bits, of how its counter stood against its limit after its last charge:
// the limit itself is not stored. Classes 0 to 11 are powers of two: the counter uses about one part in 2^(11-class)
// of its limit. That takes no division on the hot path, and is finest for counters that have hardly begun. From 12
// on the counter is at its limit: the same charge would not fit again, until the first, second, third or last quarter
// of the time has passed in which what is in use decays.
const (
	lastBelow = 11
	quarters  = 4
)

// usageClass returns the class after a charge of that cost was spent, of a counter that held current units before it
// and has so many remaining after it. capacity is that of its limit.
func usageClass(capacity, current, remaining, cost int64) uint8 {
	cost = min(max(1, cost), limiter.MaxCount)
	if remaining >= cost {
		halvings := bits.Len64(uint64(capacity)) - bits.Len64(uint64(capacity-remaining))
		return uint8(max(0, lastBelow-halvings))
	}
	used := current + cost
	excess := max(1, used-max(0, capacity-cost)) // for the same charge to fit again
	quarter := min((excess*quarters-1)/used, quarters-1)
	return uint8(lastBelow + 1 + quarter)
}

// classShare returns how much of its limit a counter of that class has in use, and whether it is at its limit, when
// left of the whole time of its decay is left.
func classShare(class uint8, left, whole int64) (share float64, limited bool) {
	part := float64(left) / float64(whole)
	if class <= lastBelow {
		return math.Ldexp(part, int(class)-lastBelow), false
	}
	return part, 1-part < float64(class-lastBelow)/quarters
}
