package memstore

import (
	"context"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
	"github.com/httplimit/httplimit/limiter/internal/window"
)

// Take implements [limiter.Store]. Besides an ended context its only errors are invalid limits, and more than 64
// pairs of Algorithm and Window in use at the same time.
func (s *Store) Take(ctx context.Context, charges []limiter.Charge) (taken bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if algorithm.AsksZero(charges) {
		return algorithm.TakeZero(charges, func(others []limiter.Charge) (bool, error) { return s.Take(ctx, others) })
	}
	if len(charges) == 1 {
		return s.takeOne(&charges[0])
	}
	return s.takeBatch(charges)
}

func (s *Store) takeOne(c *limiter.Charge) (taken bool, err error) {
	var v visit
	v.now, v.hash = s.clock.now(), s.hash(c.Scope, c.Key)
	if _, err := v.enterTableOf(s, &c.Limit); err != nil {
		return false, err
	}
	if c.Mode == limiter.Enforce && v.spend(&c.Limit, c.Cost) {
		v.fill(c, true)
		return c.Allowed, nil
	}
	return v.take(c), nil
}

// visit is the decision on a charge, made in steps. Of one that is alone: enter, then spend, then, unless that has
// decided it, take.
type visit struct {
	hash  uint64
	now   int64 // from enter on that of the stripe
	st    *stripe
	sh    *shard
	n     int // the slot of the counter or, if it was not found, the free one where it would be
	found bool

	counts    window.Counts // before the charge
	remaining int64         // of them
}

// enterTableOf is enter for the table of that limit, which it returns.
func (v *visit) enterTableOf(s *Store, l *limiter.Limit) (*table, error) {
	for {
		t, err := s.tableOf(l)
		if err != nil || v.enter(s, t) {
			return t, err
		}
	}
}

// enter locks the stripe and finds the counter. It reports false, and locks nothing, if the table was dropped.
func (v *visit) enter(s *Store, t *table) bool {
	v.st = s.stripeOf(v.hash)
	v.st.mu.Lock()
	if t.dropped {
		v.st.mu.Unlock()
		return false
	}
	v.now = v.st.advance(v.now)
	v.sh = v.st.shard(t, v.now)
	v.n, v.found = v.sh.find(v.hash)
	return true
}

// spend is the fast path: it decides a charge that spends and may be refused, if its counter is a window's and was
// charged in this window before, or is new and fits; and unlocks the stripe. The decision follows from counts and
// remaining, which needs no lock.
func (v *visit) spend(l *limiter.Limit, cost int64) (decided bool) {
	if cost <= 0 || !v.sh.table.windowed {
		return false
	}
	if !v.found {
		decided = v.begin(l, cost)
	} else if decided = v.count(l); decided && cost <= v.remaining {
		v.add(l, cost)
	}
	if decided {
		v.st.mu.Unlock()
	}
	return decided
}

// begin makes a counter and spends a cost that fits from it. It reports false, and has done nothing, if the cost does
// not fit, if the store is full, and if the key may be in a sketch.
func (v *visit) begin(l *limiter.Limit, cost int64) bool {
	sh, budget := v.sh, v.sh.table.budget
	if cost > l.Requests || sh.overflow != nil || budget.used.Load() >= budget.most || !budget.take() {
		return false
	}
	if sh.full() {
		v.n = sh.insert(v.hash)
	} else {
		sh.used++
	}
	number, length := sh.numberAt(v.now), sh.table.window
	v.counts = window.Counts{Left: (number+1)*length - v.now, Length: length}
	v.remaining = l.Requests
	sh.slot(v.n)[0] = withLow(v.hash, uint8(number))
	v.add(l, cost)
	after := v.counts
	after.Current = cost
	sh.noteIdle(v.now + int64(after.ResetAfter(l)/time.Millisecond))
	return true
}

// count reads a counter that was found, and reports false if it was not charged in this window before.
func (v *visit) count(l *limiter.Limit) bool {
	words, number := v.sh.slot(v.n), v.sh.numberAt(v.now)
	if uint8(words[0]) != uint8(number) {
		return false
	}
	w, length := &v.counts, v.sh.table.window
	w.Left, w.Length = (number+1)*length-v.now, length
	w.Previous, w.Current, _ = unpackCounts(words[1])
	v.remaining = w.Remaining(l.Requests)
	return true
}

// add spends a cost that fits.
func (v *visit) add(l *limiter.Limit, cost int64) {
	class := usageClass(l.Requests, v.counts.Current, v.remaining-cost, cost)
	v.sh.slot(v.n)[1] = packCounts(v.counts.Previous, v.counts.Current+cost, class)
}

// fill fills in a charge that the fast path has decided. taken reports whether its batch was.
func (v *visit) fill(c *limiter.Charge, taken bool) {
	c.At, c.Current, c.Previous, c.Cached = v.now, v.counts.Current, v.counts.Previous, false
	if !taken && c.Cost <= v.remaining {
		c.Decision = limiter.Decision{Allowed: true, Remaining: v.remaining, ResetAfter: v.counts.ResetAfter(&c.Limit)}
	} else {
		c.Decision = v.counts.Decide(&c.Limit, c.Cost, v.remaining)
	}
}

// take decides any charge, and unlocks the stripe.
func (v *visit) take(c *limiter.Charge) (taken bool) {
	found := v.found && v.sh.holds(v.n, v.now)
	taken = v.sh.take(v.hash, v.n, found, v.now, c)
	v.st.mu.Unlock()
	return taken
}

// take decides a charge that is alone. Its counter was found in slot number n, or not at all.
func (sh *shard) take(hash uint64, n int, found bool, now int64, c *limiter.Charge) (taken bool) {
	if found && sh.table.Algorithm == limiter.StrictWindow && c.Mode == limiter.Enforce && c.Cost > 0 {
		if taken, decided := sh.takeStrict(n, sh.numberAt(now), now, c); decided {
			return taken
		}
	}
	var u algorithm.Usage // loaded in place: copied, it costs a sixth of the decision
	u.Parts = sh.parts
	sh.load(&u, c, hash, n, found, now, &sh.stripe.log)
	fits := u.Judge(c)
	if u.Spent != 0 || u.Returned != 0 {
		sh.save(hash, n, found, &u, c)
	}
	return fits || c.Mode != limiter.Enforce
}

// lookUp finds a counter that holds something.
func (sh *shard) lookUp(hash uint64, now int64) (n int, found bool) {
	n, found = sh.find(hash)
	return n, found && sh.holds(n, now)
}

// holds drops the entries of a log in slot number n that have left the window. It reports false if none is left, and
// then the slot is gone.
func (sh *shard) holds(n int, now int64) bool {
	return sh.table.Algorithm != limiter.SlidingLog || sh.trim(n, now)
}
