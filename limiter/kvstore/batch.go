package kvstore

import (
	"sync/atomic"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
)

// batch is one call under way. It shares nothing with the caller, who may be gone before it ends.
type batch struct {
	at       int64             // the moment of the decision, in Unix milliseconds
	asked    []limiter.Charge  // as the caller handed them in, without their strings
	charges  []limiter.Charge  // the same, judged
	counters []counter         // that the charges count on, each once
	usages   []algorithm.Usage // what the counters hold
	of       []int             // the place in counters of that of each charge

	taken   bool
	certain bool // a refusal rests on nothing that others may be about to give back
	claimed atomic.Bool

	// Most batches are of one charge, and need no memory beside this.
	single struct {
		charges [2]limiter.Charge
		counter [1]counter
		usage   [1]algorithm.Usage
		of      [1]int
	}
}

// counter is one counter of a batch in its current window.
type counter struct {
	base   string // of its keys
	hash   uint64 // of base, for memory
	limit  limiter.Limit
	number int64 // of the window

	// What others have spent: in this window, in the one before, and in the next one, where faster clocks
	// count already.
	current, previous, next int64

	settled bool  // the previous window changes no more
	held    int64 // units that this batch has added to the KV
	entered bool  // memory counts this batch as one that adds
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
	for i := range b.asked {
		b.of[i] = b.counter(&b.asked[i])
		b.asked[i].Scope, b.asked[i].Key = "", ""
	}
	b.usages = b.usages[:len(b.counters)]
	return b
}

// counter is the place of c's counter in counters.
func (b *batch) counter(c *limiter.Charge) int {
	base := keyBase(c)
	for i := range b.counters {
		if b.counters[i].base == base {
			return i
		}
	}
	b.counters = append(b.counters, counter{base: base, limit: c.Limit})
	return len(b.counters) - 1
}

// claim tells whether it is the first one called: the trip calls it when it has decided, the caller when it leaves.
func (b *batch) claim() bool { return !b.claimed.Swap(true) }

// answer copies the decisions into the caller's charges.
func (b *batch) answer(charges []limiter.Charge) {
	for i := range charges {
		charges[i].State, charges[i].Decision, charges[i].Cached = b.charges[i].State, b.charges[i].Decision, false
	}
}

// judge decides the batch on what its counters are known to hold.
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

// allFit tells whether judge found that no charge has to be left out.
func (b *batch) allFit() bool {
	for i := range b.charges {
		if !b.charges[i].Allowed {
			return false
		}
	}
	return true
}

// change is what the batch, as judged, does to the counts of the two windows of its counter i.
func (b *batch) change(i int) (current, previous int64) {
	c, u := &b.counters[i], &b.usages[i]
	current = u.Spent - (c.count() - u.Current)
	if c.sliding() {
		previous = u.Previous - bounded(c.previous)
	}
	return current, previous
}

// withinLimit tells whether the counter of refused charge i holds no more than its limit allows: others' units that
// are to be given back would stand out, for they did not fit.
func (b *batch) withinLimit(i int) bool {
	probe := limiter.Charge{Limit: b.charges[i].Limit, Mode: limiter.Peek}
	u := b.usages[b.of[i]]
	return u.Judge(&probe)
}

func (c *counter) sliding() bool { return c.limit.Algorithm == limiter.SlidingWindow }

// start and end are the moments of the window's turns.
func (c *counter) start() int64 { return c.number * c.limit.WindowMillis() }
func (c *counter) end() int64   { return c.start() + c.limit.WindowMillis() }

// count is what counts against the limit beside the previous window.
func (c *counter) count() int64 { return bounded(bounded(c.current) + bounded(c.next)) }

// bounded keeps what a KV says within what a counter can hold.
func bounded(count int64) int64 { return min(max(0, count), limiter.MaxCount) }
