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
	hash, now := s.hash(c.Scope, c.Key), s.clock.now()
	st := s.stripeOf(hash)
	st.mu.Lock()
	now = st.time(now)
	if c.Mode == limiter.Enforce && c.Cost > 0 && windowed(t.algorithm) {
		if taken, known := st.takeKnown(t, hash, now, c); known {
			return taken, nil
		}
	}
	return st.takeAny(t, hash, now, c)
}

// takeAny judges any charge that is alone. The stripe must be locked, and is unlocked.
func (st *stripe) takeAny(t *table, hash uint64, now int64, c *limiter.Charge) (taken bool, err error) {
	if s := st.store; !s.budget.fits(1) && s.horizon.passed(now) {
		st.mu.Unlock()
		s.reclaim(now, 1)
		st.mu.Lock()
	}
	if t.dropped {
		st.mu.Unlock()
		return st.store.takeOne(c)
	}
	now = st.time(now)
	sh := st.shard(t, now)
	n, found := sh.lookUp(hash, now)
	var u algorithm.Usage
	sh.load(&u, &c.Limit, hash, n, found, now, &st.log)
	fits := u.Judge(c)
	if u.Spent != 0 || u.Returned != 0 {
		sh.save(hash, n, found, &u, c)
	}
	st.mu.Unlock()
	return fits || c.Mode != limiter.Enforce, nil
}

// lookUp finds a counter, and drops what has left a log by now.
func (sh *shard) lookUp(hash uint64, now int64) (n int, found bool) {
	n, found = sh.find(hash)
	if found && sh.table.algorithm == limiter.SlidingLog {
		found = sh.trim(n, now)
	}
	return n, found
}
