package memstore

import (
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/internal/window"
)

// takeKnown is the short way of a charge that spends, alone, and may refuse, if its counter was charged in this window
// before: most are that. If the counter was not, known is false and nothing has happened yet. The stripe must be
// locked, and is unlocked if known is true. It takes 12 ns less than [stripe.takeAny], of 83.
func (st *stripe) takeKnown(t *table, hash uint64, now int64, c *limiter.Charge) (taken, known bool) {
	sh := st.ready(t, now)
	if sh == nil {
		return false, false
	}
	number := sh.window(now)
	counts := sh.counts(withLow(hash, uint8(number)))
	if counts == nil {
		return false, false
	}
	w := window.Counts{Left: (number+1)*t.window - now, Length: t.window}
	w.Previous, w.Current, _ = unpackCounts(*counts)
	c.At = now
	if taken = w.Spend(c); taken {
		*counts = packCounts(w.Previous, w.Current, levelAfter(c))
	}
	st.mu.Unlock()
	w.Tell(c)
	return taken, true
}

// ready returns the shard of t, if it was made and need not be swept.
func (st *stripe) ready(t *table, now int64) *shard {
	if t.index < len(st.shards) {
		if sh := &st.shards[t.index]; sh.table == t && now < sh.sweepAt && sh.slots != nil {
			return sh
		}
	}
	return nil
}

// counts returns the second word of the slot whose first one is given. Only tables of windows have such slots.
func (sh *shard) counts(first uint64) *uint64 {
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
