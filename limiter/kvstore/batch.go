package kvstore

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
)

// batch is one Take or Reset. It shares no memory with the caller, which may return before the call to the KV does.
type batch struct {
	asked    []limiter.Charge  // as the caller passed them, without their strings
	charges  []limiter.Charge  // the same, judged
	counters []counter         // of the charges, each once; only their names are used here
	usages   []algorithm.Usage // what the counters hold
	of       []int             // of[i] is the index in counters of the counter of charge i
	in       []int             // in[i] is the index of counter i among those of its joint
	units    []int64           // units[i] is what the batch, as judged, adds to the current window of counter i

	taken      bool
	conclusive bool  // a refusal rests on no units that others may be about to subtract
	err        error // instead of a decision

	claimed  atomic.Bool
	answered bool // the flight has answered the batch, or found that nobody waits

	// While the caller waits for another's flight.
	ctx      context.Context // of the caller, for its values
	waitsIn  *line
	wake     chan struct{} // closed with the answer
	ends     time.Time     // when the caller gives up
	inFlight bool          // its flight is under way; guarded by the queue's lock

	// Most batches are of one charge and alone, and need no memory beside this.
	single struct {
		charges [2]limiter.Charge
		counter [1]counter
		usage   [1]algorithm.Usage
		ints    [2]int
		units   [1]int64
		batches [1]*batch
		flights [1]*flight
	}
	line   line
	flight flight
	joint  joint
}

func (s *Store) newBatch(charges []limiter.Charge) *batch {
	b := &batch{}
	n := len(charges)
	if one := &b.single; n == 1 {
		b.asked, b.charges = one.charges[:1:1], one.charges[1:]
		b.of, b.in = one.ints[:1:1], one.ints[1:]
		b.counters, b.usages, b.units = one.counter[:0], one.usage[:], one.units[:]
	} else {
		both, ints := make([]limiter.Charge, 2*n), make([]int, 2*n)
		b.asked, b.charges = both[:n:n], both[n:]
		b.of, b.in = ints[:n:n], ints[n:]
		b.usages, b.units = make([]algorithm.Usage, n), make([]int64, n)
	}
	copy(b.asked, charges)
	for i := range charges {
		b.of[i] = s.counterOf(b, charges, i)
		b.asked[i].Scope, b.asked[i].Key = "", ""
	}
	n = len(b.counters)
	b.usages, b.in, b.units = b.usages[:n], b.in[:n], b.units[:n]
	b.single.batches[0] = b
	return b
}

// counterOf returns the index in b.counters of the counter of charge i, which it appends unless an earlier charge has.
func (s *Store) counterOf(b *batch, charges []limiter.Charge, i int) int {
	c := &charges[i]
	for j := range i {
		if charges[j].SameCounter(c) {
			return b.of[j]
		}
	}
	base := keyBase(c)
	b.counters = append(b.counters, counter{base: base, hash: s.counts.hash(base), limit: c.Limit})
	return len(b.counters) - 1
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

// asksLike reports whether b and other have the same counters, in the same order.
func (b *batch) asksLike(other *batch) bool {
	if len(b.counters) != len(other.counters) {
		return false
	}
	for i := range b.counters {
		if b.counters[i].base != other.counters[i].base {
			return false
		}
	}
	return true
}

// claim reports whether its caller is the first one to claim the batch: the flight when it has decided, or Take when it
// gives up waiting. So the units of a Take that returned an error are never kept.
func (b *batch) claim() bool { return !b.claimed.Swap(true) }

// reply ends the batch with what is in it, and reports whether the caller still waits for it. The batch belongs to the
// caller then.
func (b *batch) reply() (waiting bool) {
	b.answered = true
	wake := b.wake
	waiting = b.claim()
	if waiting && wake != nil {
		close(wake)
	}
	return waiting
}

// fail ends the batch with err, unless it has ended.
func (b *batch) fail(err error) {
	if b.answered {
		return
	}
	b.err = err
	b.reply()
}

// answer copies the decisions into the caller's charges.
func (b *batch) answer(charges []limiter.Charge) {
	for i := range charges {
		charges[i].State, charges[i].Decision, charges[i].Cached = b.charges[i].State, b.charges[i].Decision, false
	}
}
