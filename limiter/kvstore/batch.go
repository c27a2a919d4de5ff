package kvstore

import (
	"sync/atomic"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
)

// batch is one Take or Reset. It shares no memory with the caller, which may return before the call to the KV does.
type batch struct {
	at       int64             // the moment of the decision, in Unix milliseconds
	asked    []limiter.Charge  // as the caller passed them, without their strings
	charges  []limiter.Charge  // the same, judged
	counters []counter         // of the charges, each once
	usages   []algorithm.Usage // what the counters hold
	of       []int             // of[i] is the index in counters of the counter of charge i

	taken      bool
	conclusive bool // a refusal rests on no units that others may be about to subtract
	claimed    atomic.Bool

	// Most batches are of one charge, and need no memory beside this.
	single struct {
		charges [2]limiter.Charge
		counter [1]counter
		usage   [1]algorithm.Usage
		of      [1]int
	}
}

func newBatch(charges []limiter.Charge) *batch {
	b := &batch{}
	if one := &b.single; len(charges) == 1 {
		b.asked, b.charges = one.charges[:1:1], one.charges[1:]
		b.counters, b.usages, b.of = one.counter[:0], one.usage[:], one.of[:]
	} else {
		b.asked, b.charges = make([]limiter.Charge, len(charges)), make([]limiter.Charge, len(charges))
		b.usages, b.of = make([]algorithm.Usage, len(charges)), make([]int, len(charges))
	}
	copy(b.asked, charges)
	for i := range charges {
		b.of[i] = b.counterOf(charges, i)
		b.asked[i].Scope, b.asked[i].Key = "", ""
	}
	b.usages = b.usages[:len(b.counters)]
	return b
}

// counterOf returns the index in counters of the counter of charge i, which it appends unless an earlier charge has.
func (b *batch) counterOf(charges []limiter.Charge, i int) int {
	c := &charges[i]
	for j := range i {
		if charges[j].SameCounter(c) {
			return b.of[j]
		}
	}
	b.counters = append(b.counters, counter{base: keyBase(c), limit: c.Limit})
	return len(b.counters) - 1
}

// judge decides the batch on the counts of its counters.
func (b *batch) judge() (taken bool) {
	copy(b.charges, b.asked)
	for i := range b.counters {
		c := &b.counters[i]
		b.usages[i] = algorithm.Usage{}
		b.usages[i].LoadWindow(&c.limit, b.at, c.number, c.count(), bounded(c.previous))
	}
	b.taken = algorithm.Decide(b.charges, b.usages, b.of)
	return b.taken
}

// allFit reports whether all charges fit, as judged.
func (b *batch) allFit() bool {
	for i := range b.charges {
		if !b.charges[i].Allowed {
			return false
		}
	}
	return true
}

// change returns what the batch, as judged, adds to the counts of the two windows of counter i.
func (b *batch) change(i int) (current, previous int64) {
	c, u := &b.counters[i], &b.usages[i]
	current = u.Spent - (c.count() - u.Current)
	if c.sliding() {
		previous = u.Previous - bounded(c.previous)
	}
	return current, previous
}

// covered reports whether the batch, as judged, spends no more than it has reserved.
func (b *batch) covered() bool {
	for i := range b.counters {
		if current, _ := b.change(i); current > b.counters[i].reserved {
			return false
		}
	}
	return true
}

// withinLimit reports whether the counter of the refused charge i holds no more than its limit allows. Units that
// another batch is about to subtract did not fit, so with them it holds more.
func (b *batch) withinLimit(i int) bool {
	probe := limiter.Charge{Limit: b.charges[i].Limit, Mode: limiter.Peek}
	u := b.usages[b.of[i]]
	return u.Judge(&probe)
}

// claim reports whether its caller is the first one to claim the batch: the call to the KV when it has decided, or
// Take when it gives up waiting. So the units of a Take that returned an error are never kept.
func (b *batch) claim() bool { return !b.claimed.Swap(true) }

// answer copies the decisions into the caller's charges.
func (b *batch) answer(charges []limiter.Charge) {
	for i := range charges {
		charges[i].State, charges[i].Decision, charges[i].Cached = b.charges[i].State, b.charges[i].Decision, false
	}
}
