package kvstore

import (
	"context"
	"fmt"
)

// read reads all counts of j, and caches them.
func (s *Store) read(ctx context.Context, j *joint) error {
	var get multiGet
	for i := range j.counters {
		c := &j.counters[i]
		get.add(c, c.number, &c.current)
		if !c.sliding() {
			continue
		}
		get.add(c, c.number-1, &c.previous)
		if s.nextMayCount(c, j.at) {
			get.add(c, c.number+1, &c.next)
		}
	}
	if _, err := get.run(ctx, s.kv); err != nil {
		return err
	}
	for i := range j.counters {
		s.counts.store(&j.counters[i], j.at)
	}
	return nil
}

// readNeighbours reads the windows before and after those that j has added to, where other callers may count at the
// same moment: their clocks differ, or a call took long. It reports whether a count has changed. All add first and
// read then, so that of two callers one sees the other.
func (s *Store) readNeighbours(ctx context.Context, j *joint) (changed bool, err error) {
	now := s.clock.UnixMilli(s.clock.Now())
	var get multiGet
	for i := range j.counters {
		c := &j.counters[i]
		if c.reserved == 0 || !c.sliding() {
			continue
		}
		if !c.previousFinal {
			get.add(c, c.number-1, &c.previous)
		}
		if s.nextMayCount(c, now) {
			get.add(c, c.number+1, &c.next)
		}
	}
	return get.run(ctx, s.kv)
}

// multiGet collects the keys of one Get.
type multiGet struct {
	keys []string
	into []*int64
}

func (g *multiGet) add(c *counter, number int64, into *int64) {
	g.keys = append(g.keys, windowKey(c.base, number))
	g.into = append(g.into, into)
}

// run reads the counts, and reports whether one of them differs from the value before.
func (g *multiGet) run(ctx context.Context, kv KV) (changed bool, err error) {
	if len(g.keys) == 0 {
		return false, nil
	}
	counts, err := kv.Get(ctx, g.keys...)
	if err != nil {
		return false, err
	}
	if len(counts) != len(g.keys) {
		return false, fmt.Errorf("kvstore: the KV's Get of %d keys returned %d counts", len(g.keys), len(counts))
	}
	for i, count := range counts {
		changed = changed || *g.into[i] != count
		*g.into[i] = count
	}
	return changed, nil
}
