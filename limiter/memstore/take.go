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
	if c.Mode == limiter.Enforce && c.Cost > 0 && windowed(sh.table.algorithm) {
		if taken, ok := sh.takeFast(hash, now, c); ok {
			return taken
		}
	}
	n, found := sh.lookUp(hash, now)
	var u algorithm.Usage // loaded in place: copied, it costs a sixth of the decision
	sh.load(&u, &c.Limit, hash, n, found, now, &sh.stripe.log)
	fits := u.Judge(c)
	if u.Spent != 0 || u.Returned != 0 {
		sh.save(hash, n, found, &u, c)
	}
	return fits || c.Mode != limiter.Enforce
}

// takeFast is the fast path of [shard.take], an eighth shorter: it decides a charge that spends and may be refused, if
// its counter was charged in this window before. Otherwise ok is false, and nothing has happened.
func (sh *shard) takeFast(hash uint64, now int64, c *limiter.Charge) (taken, ok bool) {
	number, length := sh.window(now), sh.table.window
	counts := sh.counts(withLow(hash, uint8(number)))
	if counts == nil {
		return false, false
	}
	w := window.Counts{Left: (number+1)*length - now, Length: length}
	w.Previous, w.Current, _ = unpackCounts(*counts)
	c.At = now
	if taken = w.Spend(c); taken {
		*counts = packCounts(w.Previous, w.Current, usageClass(c))
	}
	return taken, true
}

// counts returns the second word of the slot whose first one is given, or nil. Only SlidingWindow and FixedWindow have
// such slots.
func (sh *shard) counts(first uint64) *uint64 {
	if sh.capacity == 0 {
		return nil
	}
	slots := sh.slots
	for n := sh.home(first); ; n = sh.after(n) {
		switch slot := slots[2*n:][:2]; {
		case slot[0] == first:
			return &slot[1]
		case slot[1] == 0:
			return nil
		}
	}
}

// lookUp finds a counter, and drops the entries of a log that have left the window.
func (sh *shard) lookUp(hash uint64, now int64) (n int, found bool) {
	n, found = sh.find(hash)
	if found && sh.table.algorithm == limiter.SlidingLog {
		found = sh.trim(n, now)
	}
	return n, found
}
