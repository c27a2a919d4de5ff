package console

import (
	"bytes"
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
	text        []byte // the key, in the memory of a topReader
}

// topReader reads sketches, one after the other, with the same memory.
type topReader struct {
	keys []topKey
	text []byte
	keep func(*topKey) bool // which keys are wanted; nil: all
}

// top returns the keys that were counted most up to now, in the last 7.5 to 15 minutes: those first that were surely
// counted most. At most n of those that are wanted; all of them if n is negative.
func (t *topReader) top(s *sketch, second uint32, n int) topKeys {
	span := second / halfSpan
	all := topKeys{Since: (max(span, 1) - 1) * halfSpan}
	t.keys, t.text = t.keys[:0], slices.Grow(t.text[:0], 2*sketchShards*shardKeys*maxKey/4)
	for i := range s.shards {
		t.read(&s.shards[i], span, &all)
	}
	slices.SortFunc(t.keys, func(a, b topKey) int {
		return cmp.Or(cmp.Compare(b.Least, a.Least), cmp.Compare(b.Most, a.Most),
			cmp.Compare(b.Last.second, a.Last.second), bytes.Compare(a.text, b.text))
	})
	found := t.keys
	if n >= 0 && len(found) > n {
		found = found[:n]
	}
	all.Keys = slices.Clone(found)
	for i := range all.Keys {
		all.Keys[i].Key, all.Keys[i].text = string(all.Keys[i].text), nil
	}
	return all
}

// read adds what a shard holds.
func (t *topReader) read(sh *shard, span uint32, all *topKeys) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.turn(span)
	dropped := sh.dropped.Load() - sh.droppedAtBefore
	all.Dropped += dropped
	all.Total += sh.now.total + sh.before.total
	all.Unlisted = max(all.Unlisted, sh.now.unlisted()+sh.before.unlisted())
	for e := range uint8(sh.now.keys) {
		k := sh.now.entry(e)
		if earlier, found := find(sh.before, sh.now.hash[e], k.text); found {
			before := sh.before.entry(earlier)
			k.Least, k.Most, k.First = k.Least+before.Least, k.Most+before.Most, before.First
		} else {
			k.Most += sh.before.unlisted()
		}
		t.add(k, dropped)
	}
	for e := range uint8(sh.before.keys) {
		k := sh.before.entry(e)
		if _, found := find(sh.now, sh.before.hash[e], k.text); !found {
			k.Most += sh.now.unlisted()
			t.add(k, dropped)
		}
	}
}

// add adds a key, whose text is still in the shard.
func (t *topReader) add(k topKey, dropped uint64) {
	if t.keep != nil && !t.keep(&k) {
		return
	}
	k.dropped = dropped
	at := len(t.text)
	t.text = append(t.text, k.text...)
	k.text = t.text[at:len(t.text):len(t.text)]
	t.keys = append(t.keys, k)
}

func (m *summary) entry(e uint8) topKey {
	seen := &m.seen[e]
	return topKey{
		text: seen.key(), Least: uint64(m.most[e] - m.excess[e]), Most: uint64(m.most[e]),
		First: seen.first, Last: seen.last,
	}
}

// top is that of a topReader that is used once.
func (s *sketch) top(second uint32, n int) topKeys {
	var t topReader
	return t.top(s, second, n)
}
