package console

import (
	"cmp"
	"slices"
)

// topKeys is what a sketch says.
type topKeys struct {
	Keys     []topKey
	Since    uint32 // the first second that is counted
	Total    uint64 // all that was counted, without Dropped
	Dropped  uint64 // was not counted, because other requests were being counted
	Unlisted uint64 // a key that the sketch does not have was counted at most so often, Dropped apart
}

// topKey is one key of a sketch: it was counted least to most times, or up to dropped times more.
type topKey struct {
	Key         string
	Least, Most uint64
	dropped     uint64
	First       uint32 // second
	Last        sighting
}

// top returns the keys that were counted most up to now, in the last 7.5 to 15 minutes: those first that were surely
// counted most. All keys that the sketch has if n is negative.
func (s *sketch) top(second uint32, n int) topKeys {
	span := second / halfSpan
	all := topKeys{Since: (max(span, 1) - 1) * halfSpan}
	for i := range s.shards {
		s.shards[i].read(span, &all)
	}
	slices.SortFunc(all.Keys, func(a, b topKey) int {
		return cmp.Or(cmp.Compare(b.Least, a.Least), cmp.Compare(b.Most, a.Most),
			cmp.Compare(b.Last.second, a.Last.second), cmp.Compare(a.Key, b.Key))
	})
	if n >= 0 && len(all.Keys) > n {
		all.Keys = all.Keys[:n]
	}
	return all
}

// read adds what a shard holds.
func (sh *shard) read(span uint32, all *topKeys) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.turn(span)
	dropped := sh.dropped.Load() - sh.droppedAtBefore
	all.Dropped += dropped
	all.Total += sh.now.total + sh.before.total
	all.Unlisted = max(all.Unlisted, sh.now.unlisted()+sh.before.unlisted())
	for e := range uint8(sh.now.keys) {
		k := sh.now.entry(e)
		k.dropped = dropped
		if earlier, found := sh.before.find(sh.now.hash[e], k.Key); found {
			before := sh.before.entry(earlier)
			k.Least, k.Most, k.First = k.Least+before.Least, k.Most+before.Most, before.First
		} else {
			k.Most += sh.before.unlisted()
		}
		all.Keys = append(all.Keys, k)
	}
	for e := range uint8(sh.before.keys) {
		k := sh.before.entry(e)
		k.dropped = dropped
		if _, found := sh.now.find(sh.before.hash[e], k.Key); !found {
			k.Most += sh.now.unlisted()
			all.Keys = append(all.Keys, k)
		}
	}
}

func (m *summary) entry(e uint8) topKey {
	seen := &m.seen[e]
	return topKey{
		Key: string(seen.key()), Least: uint64(m.most[e] - m.excess[e]), Most: uint64(m.most[e]),
		First: seen.first, Last: seen.last,
	}
}
