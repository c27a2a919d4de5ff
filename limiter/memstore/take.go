package memstore

import (
	"context"

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

// TakeOne is Take for a charge that is alone, in fewer steps: it returns no more than the decision. It is what a
// [limiter.Limiter] with one limit calls.
func (s *Store) TakeOne(
	ctx context.Context, scope, key string, l *limiter.Limit, cost int64, mode limiter.Mode,
) (limiter.Decision, error) {
	if err := ctx.Err(); err != nil {
		return limiter.Decision{}, err
	}
	if l.Requests == 0 {
		return s.takeZero(ctx, scope, key, l, cost, mode)
	}
	var v visit
	if err := s.enter(&v, scope, key, l); err != nil {
		return limiter.Decision{}, err
	}
	if mode == limiter.Enforce && v.spend(l, cost) {
		return v.counts.Decide(l, cost, v.remaining), nil
	}
	c := limiter.Charge{Scope: scope, Key: key, Limit: *l, Cost: cost, Mode: mode}
	v.take(&c)
	return c.Decision, nil
}

func (s *Store) takeZero(
	ctx context.Context, scope, key string, l *limiter.Limit, cost int64, mode limiter.Mode,
) (limiter.Decision, error) {
	batch := []limiter.Charge{{Scope: scope, Key: key, Limit: *l, Cost: cost, Mode: mode}}
	_, err := s.Take(ctx, batch)
	return batch[0].Decision, err
}

// Is reports whether other is s itself, and not a store that has s embedded and decides in a way of its own.
func (s *Store) Is(other limiter.Store) bool { return other == limiter.Store(s) }

func (s *Store) takeOne(c *limiter.Charge) (taken bool, err error) {
	var v visit
	if err := s.enter(&v, c.Scope, c.Key, &c.Limit); err != nil {
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
	now   int64
	st    *stripe
	sh    *shard
	n     int // the slot of the counter, if it was found
	found bool

	counts    window.Counts // before the charge
	remaining int64         // of them
}

// enter finds the counter and locks its stripe.
func (s *Store) enter(v *visit, scope, key string, l *limiter.Limit) error {
	t, err := s.tableOf(l)
	if err != nil {
		return err
	}
	v.now, v.hash = s.clock.now(), s.hash(scope, key)
	v.st = s.stripeOf(v.hash)
	v.st.mu.Lock()
	if t.dropped {
		v.st.mu.Unlock()
		return s.enter(v, scope, key, l)
	}
	v.now = v.st.advance(v.now)
	v.sh = v.st.shard(t, v.now)
	v.n, v.found = v.sh.lookUp(v.hash, v.now)
	return nil
}

// spend is the fast path: it decides a charge that spends and may be refused, if its counter was charged in this window
// before, and unlocks the stripe. The decision follows from counts and remaining, which needs no lock.
func (v *visit) spend(l *limiter.Limit, cost int64) (decided bool) {
	if cost <= 0 || !v.count(l) {
		return false
	}
	if cost <= v.remaining {
		v.add(l, cost)
	}
	v.st.mu.Unlock()
	return true
}

// count reads the counter, and reports false if it was not charged in this window before.
func (v *visit) count(l *limiter.Limit) bool {
	if !v.found || !v.sh.table.windowed {
		return false
	}
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
	taken = v.sh.take(v.hash, v.n, v.found, v.now, c)
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

// lookUp finds a counter, and drops the entries of a log that have left the window.
func (sh *shard) lookUp(hash uint64, now int64) (n int, found bool) {
	n, found = sh.find(hash)
	if found && sh.table.Algorithm == limiter.SlidingLog {
		found = sh.trim(n, now)
	}
	return n, found
}
