package memstore

import (
	"context"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
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
	t, err := s.tableOf(&c.Limit)
	if err != nil {
		return false, err
	}
	now, hash := s.clock.now(), s.hash(c.Scope, c.Key)
	st := s.stripeOf(hash)
	st.mu.Lock()
	if t.dropped {
		st.mu.Unlock()
		return s.takeOne(c)
	}
	now = st.advance(now)
	taken = st.shard(t, now).take(hash, now, c)
	st.mu.Unlock()
	return taken, nil
}

// take decides a charge that is alone.
func (sh *shard) take(hash uint64, now int64, c *limiter.Charge) (taken bool) {
	n, found := sh.lookUp(hash, now)
	if found && c.Mode == limiter.Enforce && c.Cost > 0 && sh.table.tagged {
		words, number := sh.slot(n), sh.numberAt(now)
		if sh.table.windowed && uint8(words[0]) == uint8(number) {
			return sh.takeFast(words, number, now, c)
		}
		if !sh.table.windowed {
			if taken, decided := sh.takeStrict(n, number, now, c); decided {
				return taken
			}
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
