package memstore

import (
	"cmp"
	"slices"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
)

// batch is the scratch memory of a call with several charges.
type batch struct {
	counters []counter         // one a charge, then one a counter; in the order in which stripes are locked
	usages   []algorithm.Usage // what the counters hold
	of       []int             // of[i] is the counter of charges[i]
	logs     []logReader       // those of usages
	parts    []algorithm.Parts // those of usages, if one of them is a StrictWindow
	visits   []visit           // one a charge, on the fast path
}

type counter struct {
	stripe *stripe
	hash   uint64
	table  *table
	// charge is the first that asks for it; once decided, the last that changed it. Shadow charges come after all others:
	// only a counter that has no others is treated as theirs.
	charge int
}

func (s *Store) takeBatch(charges []limiter.Charge) (taken bool, err error) {
	b := s.batches.Get().(*batch)
	defer s.batches.Put(b)
	if err := b.collect(s, charges); err != nil {
		return false, err
	}
	now := s.clock.now()
	// Once they are locked, the batch's own stripes are not swept for the others.
	for s.budget.used.Load()+int64(len(b.counters)) > s.budget.most && s.sweepNext(nil, now) {
	}
	now, dropped := b.lock(now)
	if dropped {
		b.unlock()
		return s.takeBatch(charges)
	}
	if taken, decided := b.spend(charges, now); decided {
		b.unlock()
		for i := range charges {
			b.visits[i].fill(&charges[i], taken)
		}
		return taken, nil
	}
	b.load(charges, now)
	taken = algorithm.Decide(charges, b.usages, b.of)
	if taken {
		b.save(charges, now)
	}
	b.unlock()
	return taken, nil
}

// collect finds out which counters the charges ask for.
func (b *batch) collect(s *Store, charges []limiter.Charge) error {
	b.counters = b.counters[:0]
	for i := range charges {
		c := &charges[i]
		t, err := s.tableOf(&c.Limit)
		if err != nil {
			return err
		}
		hash := s.hash(c.Scope, c.Key)
		b.counters = append(b.counters, counter{stripe: s.stripeOf(hash), hash: hash, table: t, charge: i})
	}
	slices.SortFunc(b.counters, func(x, y counter) int {
		return cmp.Or(x.compare(y), cmp.Compare(x.charge, y.charge))
	})
	b.of = slices.Grow(b.of[:0], len(charges))[:len(charges)]
	kept := 0
	for i, c := range b.counters {
		if i == 0 || c.compare(b.counters[kept-1]) != 0 {
			b.counters[kept] = c
			kept++
		} else if k := &b.counters[kept-1]; charges[k.charge].Mode == limiter.Shadow {
			k.charge = c.charge
		}
		b.of[c.charge] = kept - 1
	}
	b.counters = b.counters[:kept]
	return nil
}

func (c counter) compare(other counter) int {
	switch {
	case c.stripe != other.stripe:
		return cmp.Compare(c.stripe.index, other.stripe.index)
	case c.hash != other.hash:
		return cmp.Compare(c.hash, other.hash)
	}
	return cmp.Compare(c.table.index, other.table.index)
}

// lock locks all stripes of the batch, in ascending order, and returns the one time at which it is decided.
func (b *batch) lock(now int64) (latest int64, dropped bool) {
	for i, c := range b.counters {
		if i == 0 || c.stripe != b.counters[i-1].stripe {
			c.stripe.mu.Lock()
		}
		now = max(now, c.stripe.latest)
		dropped = dropped || c.table.dropped
	}
	for _, c := range b.counters {
		c.stripe.latest = now
	}
	return now, dropped
}

func (b *batch) unlock() {
	for i, c := range b.counters {
		if i == 0 || c.stripe != b.counters[i-1].stripe {
			c.stripe.mu.Unlock()
		}
	}
}

// spend is the fast path of [Store.takeBatch]: it takes or refuses charges that all spend and may be refused, if each
// asks a counter of its own that was charged in this window before. It saves half of the time.
func (b *batch) spend(charges []limiter.Charge, now int64) (taken, decided bool) {
	if len(b.counters) != len(charges) {
		return false, false
	}
	for i := range charges {
		c, k := &charges[i], &b.counters[b.of[i]]
		if c.Mode != limiter.Enforce || c.Cost <= 0 || !k.table.windowed {
			return false, false
		}
		k.stripe.shard(k.table, now) // all of them first, as load says
	}
	b.visits = slices.Grow(b.visits[:0], len(charges))[:len(charges)]
	taken = true
	for i := range charges {
		c, k, v := &charges[i], &b.counters[b.of[i]], &b.visits[i]
		v.now, v.sh = now, k.stripe.shard(k.table, now)
		if v.n, v.found = v.sh.find(k.hash); !v.found || !v.count(&c.Limit) {
			return false, false
		}
		taken = taken && c.Cost <= v.remaining
	}
	for i := range charges {
		if taken {
			b.visits[i].add(&charges[i].Limit, charges[i].Cost)
		}
	}
	return taken, true
}

func (b *batch) load(charges []limiter.Charge, now int64) {
	// All shards first: making one moves the others of its stripe, and sweeping one moves its logs.
	for _, c := range b.counters {
		c.stripe.shard(c.table, now)
	}
	b.usages = slices.Grow(b.usages[:0], len(b.counters))[:len(b.counters)]
	clear(b.usages)
	b.logs = slices.Grow(b.logs[:0], len(b.counters))[:len(b.counters)]
	b.giveParts()
	for i, c := range b.counters {
		sh := c.stripe.shard(c.table, now)
		n, found := sh.lookUp(c.hash, now)
		sh.load(&b.usages[i], &charges[c.charge], c.hash, n, found, now, &b.logs[i])
	}
}

// giveParts gives the usages of StrictWindows space for their parts.
func (b *batch) giveParts() {
	isStrict := func(c counter) bool { return c.table.Algorithm == limiter.StrictWindow }
	if !slices.ContainsFunc(b.counters, isStrict) {
		return
	}
	b.parts = slices.Grow(b.parts[:0], len(b.counters))[:len(b.counters)]
	for i, c := range b.counters {
		if isStrict(c) {
			b.usages[i].Parts = &b.parts[i]
		}
	}
}

func (b *batch) save(charges []limiter.Charge, now int64) {
	for i := range charges {
		c, k := &charges[i], &b.counters[b.of[i]]
		if c.Mode != limiter.Peek && c.Cost != 0 && (c.Mode != limiter.Shadow || charges[k.charge].Mode == limiter.Shadow) {
			k.charge = i
		}
	}
	for i, c := range b.counters {
		if u := &b.usages[i]; u.Spent != 0 || u.Returned != 0 {
			sh := c.stripe.shard(c.table, now)
			n, found := sh.find(c.hash)
			sh.save(c.hash, n, found, u, &charges[c.charge])
		}
	}
}
