package redisstore

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
)

// batch is what one caller asks of the server, and what the server answered. It holds copies only, because the flight
// that it is in may end after its caller has left.
type batch struct {
	start time.Duration // when the caller came
	keys  []string      // each counter once
	asks  []ask         // one for each charge
	order uint64        // where it stands in a flight, see sortKey

	wake     chan *flight // a flight to lead, or nil when the outcome is there
	gone     bool         // the caller has left; guarded by its batcher
	inFlight bool         // it is in a flight; guarded by its batcher
	lost     bool         // the batch may have been spent although its caller got an error

	outcome outcome
	usages  []algorithm.Usage // one for each key, for the decision
	of      []int             // the place in usages for each charge
	moments moments
}

// ask is a charge as the scripts read it. Batches of equal asks share their arguments.
type ask struct {
	place    int // of its key in the batch, from 1
	limit    limiter.Limit
	cost     int64
	mode     limiter.Mode
	refundTo int64 // Unix milliseconds, or 0
}

const (
	// forget is the mode of a reset, which general.lua has beside those of package limiter.
	forget = limiter.Force + 1

	tooMuch    = limiter.MaxCount + 1 // a cost that fits no limit, as do all above it
	lastMoment = 1<<53 - 1            // the last that Lua holds exactly
)

// batches reuses batches, so that a decision costs few allocations.
type batches struct{ pool sync.Pool }

// get returns an empty batch of a caller that came at start.
func (p *batches) get(start time.Duration) *batch {
	b, ok := p.pool.Get().(*batch)
	if !ok {
		b = &batch{wake: make(chan *flight, 1)}
	}
	b.start, b.gone, b.inFlight, b.lost = start, false, false, false
	return b
}

// put releases a batch. Only after its outcome has come: until then a flight may hold it.
func (p *batches) put(b *batch) {
	clear(b.keys)
	clear(b.usages)
	b.keys, b.asks, b.usages, b.of = b.keys[:0], b.asks[:0], b.usages[:0], b.of[:0]
	b.outcome, b.moments = outcome{}, moments{}
	p.pool.Put(b)
}

// add copies charges into the batch.
func (b *batch) add(prefix string, charges []limiter.Charge) {
	for i := range charges {
		c := &charges[i]
		place := b.place(charges[:i], c)
		if place == 0 {
			b.keys = append(b.keys, keyOf(prefix, c))
			place = len(b.keys)
		}
		b.of = append(b.of, place-1)
		a := ask{place: place, limit: c.Limit, cost: min(max(c.Cost, -limiter.MaxCount), tooMuch), mode: c.Mode}
		if c.Cost < 0 && c.At != 0 {
			a.refundTo = min(max(c.At, 1), lastMoment)
		}
		b.asks = append(b.asks, a)
	}
}

// place returns that of the counter of c if an earlier charge has it too, else 0.
func (b *batch) place(earlier []limiter.Charge, c *limiter.Charge) int {
	for i := range earlier {
		if c.SameCounter(&earlier[i]) {
			return b.asks[i].place
		}
	}
	return 0
}

// addReset makes the batch forget the counters of charges.
func (b *batch) addReset(prefix string, charges []limiter.Charge) {
	b.add(prefix, charges)
	for i := range b.asks {
		b.asks[i].cost, b.asks[i].mode, b.asks[i].refundTo = 0, forget, 0
	}
}

// spendNothing has the batch judged as it is and refused.
func (b *batch) spendNothing() {
	b.asks = append(b.asks, ask{place: 1, limit: b.asks[0].limit, cost: tooMuch})
}

// The ways to a decision, each a script.
type way uint64

const (
	windows way = iota // windows.lua: enforced or in shadow, each on a window of its own
	strict             // strict.lua: one, enforced, on a StrictWindow
	general            // general.lua: all others
)

// The order of a batch in a flight is made of bits: its way, whether its counters are read first, a hash of what it
// asks, and one of its first key.
const (
	wayShift   = 62
	readsFirst = 1 << 61
	keyBits    = 48
	shapeBits  = 13
)

func (b *batch) way() way { return way(b.order >> wayShift) }

func (b *batch) readsFirst() bool { return b.order&readsFirst != 0 }

// asksAlike reports whether the batches share their arguments.
func (b *batch) asksAlike(other *batch) bool {
	return b.readsFirst() == other.readsFirst() && slices.Equal(b.asks, other.asks)
}

// sortKey returns the order of the batch.
func (b *batch) sortKey(seed maphash.Seed) uint64 {
	const odd = 0x9e3779b97f4a7c15 // spreads bits as multiplication by the golden ratio does
	shape := uint64(len(b.asks))
	for i := range b.asks {
		a := &b.asks[i]
		for _, n := range [...]int64{
			int64(a.limit.Algorithm), a.limit.Window.Milliseconds(), a.limit.Requests, a.cost, int64(a.mode),
		} {
			shape = (shape + uint64(n)) * odd
		}
	}
	return uint64(wayOf(b.asks, len(b.keys)))<<wayShift | shape>>(64-shapeBits)<<keyBits |
		maphash.String(seed, b.keys[0])>>(64-keyBits)
}

// wayOf returns the way of a batch on so many keys.
func wayOf(asks []ask, keys int) way {
	if len(asks) == 1 && asks[0].limit.Algorithm == limiter.StrictWindow && asks[0].mode == limiter.Enforce &&
		asks[0].canFit() {
		return strict
	}
	if len(asks) > keys {
		return general
	}
	for i := range asks {
		if !asks[i].goesStraight() {
			return general
		}
	}
	return windows
}

// canFit reports whether the ask is for units, and no more than its limit.
func (a *ask) canFit() bool { return a.cost > 0 && a.cost <= a.limit.Requests }

// goesStraight reports whether windows.lua decides the ask: one that can fit, on a window whose counts fit in one word;
// or one that only asks a bucket, as each request does of a rule with a Ban.
func (a *ask) goesStraight() bool {
	if a.mode != limiter.Enforce && a.mode != limiter.Shadow {
		return false
	}
	switch a.limit.Algorithm {
	case limiter.SlidingWindow, limiter.FixedWindow:
		return a.canFit() && a.limit.Requests < 1<<countBits
	case limiter.TokenBucket:
		return a.cost == 0 && a.mode == limiter.Enforce && a.limit.Requests > 0
	}
	return false
}

// arrange puts batches in the order in which the scripts take the fewest steps: by script, among those by what they
// ask, and among those by counter. A hash says what is equal; keys are compared because others may have the same hash.
func arrange(batches []*batch) {
	slices.SortFunc(batches, func(a, b *batch) int {
		if a.order != b.order {
			return cmp.Compare(a.order, b.order)
		}
		return strings.Compare(a.keys[0], b.keys[0])
	})
}

// decide fills in the charges from the outcome, by the arithmetic of package algorithm.
func (b *batch) decide(charges []limiter.Charge) (taken bool, err error) {
	if err := b.read(charges); err != nil {
		return false, err
	}
	taken = algorithm.Decide(charges, b.usages, b.of)
	if taken != b.outcome.taken {
		return false, fmt.Errorf("redisstore: the script answered taken=%v, its counts say %v", b.outcome.taken, taken)
	}
	return taken, nil
}
