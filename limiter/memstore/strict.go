package memstore

import (
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
	"github.com/httplimit/httplimit/limiter/internal/window"
)

// strictSlot is the slot of a StrictWindow. Its words hold the units of all parts and those of the newest one, which is
// all that a charge needs that fits, in a part that was charged before. Its tail has the parts before the newest one, two
// a word. It is not among the slots: the hash table would then be several times as long to look through, and with
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

// newest returns how many parts before its own number the newest part lies that holds units.
func (s strictSlot) newest() (ago int64) {
	if _, newest, _ := unpackCounts(s.words[1]); newest > 0 {
		return 0
	}
	var p algorithm.Parts
	s.load(&p)
	for p.Counts[ago] == 0 {
		ago++
	}
	return ago
}

// takeStrict is [shard.takeFast] for the counter of a StrictWindow in slot number n that was charged in this part before.
func (sh *shard) takeStrict(n int, number, now int64, c *limiter.Charge) (taken bool) {
	slot := strictSlot{sh.slot(n), sh.tail(n)}
	total, newest, _ := unpackCounts(slot.words[1])
	remaining := c.Limit.Requests - total
	s := window.Strict{
		Counts: &sh.parts.Counts, Number: number, Length: sh.table.unit, Before: sh.table.partsBefore, Now: now,
	}
	c.At, c.Current, c.Previous, c.Cached = now, total, 0, false
	if c.Allowed = c.Cost <= remaining; c.Allowed {
		c.Remaining, c.RetryAfter, c.ResetAfter = remaining-c.Cost, 0, s.FullResetAfter()
		slot.words[1] = packCounts(total+c.Cost, newest+c.Cost, usageClass(c, c.Limit.Requests))
		return true
	}
	slot.load(sh.parts)
	c.Remaining, c.RetryAfter, c.ResetAfter = max(0, remaining), limiter.Never, s.ResetAfter()
	if c.Cost <= c.Limit.Requests {
		c.RetryAfter = s.RetryAfter(c.Cost - remaining)
	}
	return false
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
