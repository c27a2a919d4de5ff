package memstore

import (
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
	"github.com/httplimit/httplimit/limiter/internal/arith"
)

// strictSlot is the slot of a StrictWindow. Its words hold the units of all parts and those of the newest one, which is
// all that a charge needs that fits, in a part that was charged before. Its tail has the parts before the newest one,
// two a word. It is not among the slots: the hash table would then be several times as long to look through, and with
// 100,000 keys a decision took twice the time.
type strictSlot struct{ words, tail []uint64 }

// strictTail is the number of words in the tail of a strictSlot.
const strictTail = algorithm.StrictParts / 2

// load puts the counts into p, whose number is that of the newest part.
func (s strictSlot) load(p *algorithm.Parts) {
	_, p.Counts[0], _ = unpackCounts(s.words[1])
	for i, word := range s.tail {
		p.Counts[2*i+1], p.Counts[2*i+2] = int64(word>>32), int64(uint32(word))
	}
}

// set stores the counts of p, which are total in all.
func (s strictSlot) set(p *algorithm.Parts, total int64, class uint8) {
	s.words[1] = packCounts(total, p.Counts[0], class)
	for i := range s.tail {
		s.tail[i] = uint64(p.Counts[2*i+1])<<32 | uint64(p.Counts[2*i+2])
	}
}

// count returns the units of the part that was so many before the newest one.
func (s strictSlot) count(ago int64) int64 {
	if ago == 0 {
		_, newest, _ := unpackCounts(s.words[1])
		return newest
	}
	return int64(uint32(s.tail[(ago-1)/2] >> (32 * (uint64(ago) % 2))))
}

// newest returns how many parts before the newest one the newest part lies that holds units. One does.
func (s strictSlot) newest() (ago int64) {
	for s.count(ago) == 0 {
		ago++
	}
	return ago
}

// oldest returns how many parts before the newest one, and at most last, the part lies with which so many units have
// left.
func (s strictSlot) oldest(last, units int64) (ago int64) {
	for ago = last; ago > 0; ago-- {
		if units -= s.count(ago); units <= 0 {
			break
		}
	}
	return ago
}

// takeStrict is [visit.spend] for the counter of a StrictWindow in slot number n. It leaves a charge undecided that
// is the first to fit in its part, and one of a counter whose units have all left.
func (sh *shard) takeStrict(n int, number, now int64, c *limiter.Charge) (taken, decided bool) {
	slot := strictSlot{sh.slot(n), sh.tail(n)}
	passed := number - sh.numberOf(slot.words[0], now)
	last := sh.table.partsBefore - passed // the oldest part that still counts
	if last < 0 {
		return false, false
	}
	total, newest, _ := unpackCounts(slot.words[1])
	for ago := last + 1; ago <= sh.table.partsBefore; ago++ {
		total -= slot.count(ago)
	}
	remaining := c.Limit.Requests - total
	fits := c.Cost <= remaining
	if fits && passed > 0 || total == 0 {
		return false, false
	}
	leaves := func(ago int64) time.Duration { return arith.Millis((number+last-ago+1)*sh.table.unit - now) }
	c.At, c.Current, c.Previous, c.Cached, c.Allowed = now, total, 0, false, fits
	switch {
	case fits:
		c.Remaining, c.RetryAfter, c.ResetAfter = remaining-c.Cost, 0, leaves(0)
		slot.words[1] = packCounts(total+c.Cost, newest+c.Cost, usageClass(c.Limit.Requests, total, c.Remaining, c.Cost))
		return true, true
	case newest == total: // the tail need not be read, which is in other memory
		c.RetryAfter, c.ResetAfter = leaves(0), leaves(0)
	default:
		c.RetryAfter, c.ResetAfter = leaves(slot.oldest(last, c.Cost-remaining)), leaves(slot.newest())
	}
	if c.Cost > c.Limit.Requests {
		c.RetryAfter = limiter.Never
	}
	c.Remaining = max(0, remaining)
	return false, true
}

// overflowParts fills in p with what a sketch has counted in the window of that number and in the one before it: the
// former as if it were taken now, the latter as if at the end of its window.
func (sh *shard) overflowParts(p *algorithm.Parts, number, current, previous, now int64) {
	*p = algorithm.Parts{Number: now / sh.table.unit}
	p.Counts[0] = current
	if previous > 0 {
		p.Counts[p.Number-(number*sh.table.window-1)/sh.table.unit] += min(previous, limiter.MaxCount-current)
	}
}
