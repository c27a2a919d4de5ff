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
	most int                // how many are wanted; 0: all
	last *topKey            // the last one of so many; nil: there are less so far
}

// top returns the keys that were counted most up to now, in the last 7.5 to 15 minutes: those first that were surely
// counted most. At most n of those that are wanted; all of them if n is 0.
func (t *topReader) top(s *sketch, second uint32, n int) topKeys {
	span := second / halfSpan
	all := topKeys{Since: (max(span, 1) - 1) * halfSpan}
	t.keys, t.text, t.most, t.last = t.keys[:0], slices.Grow(t.text[:0], 2*sketchShards*shardKeys*maxKey/4), n, nil
	for i := range s.shards {
		t.read(&s.shards[i], span, &all)
		t.sort()
	}
	all.Keys = slices.Clone(t.keys)
	for i := range all.Keys {
		all.Keys[i].Key, all.Keys[i].text = string(all.Keys[i].text), nil
	}
	return all
}

// sort sorts what was found so far, and drops what is too much.
func (t *topReader) sort() {
	slices.SortFunc(t.keys, func(a, b topKey) int { return a.compare(&b) })
	if n := t.most; n > 0 && len(t.keys) >= n {
		t.keys, t.last = t.keys[:n], &t.keys[n-1]
	}
}

// compare puts those first that were surely counted most.
func (k *topKey) compare(other *topKey) int {
	return cmp.Or(cmp.Compare(other.Least, k.Least), cmp.Compare(other.Most, k.Most),
		cmp.Compare(other.Last.second, k.Last.second), bytes.Compare(k.text, other.text))
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
		if earlier, found := find(sh.before, sh.now.entries[e].hash, k.text); found {
			before := sh.before.entry(earlier)
			k.Least, k.Most, k.First = k.Least+before.Least, k.Most+before.Most, before.First
		} else {
			k.Most += sh.before.unlisted()
		}
		t.add(k, dropped)
	}
	for e := range uint8(sh.before.keys) {
		k := sh.before.entry(e)
		if _, found := find(sh.now, sh.before.entries[e].hash, k.text); !found {
			k.Most += sh.now.unlisted()
			t.add(k, dropped)
		}
	}
}

// add adds a key, whose text is still in the shard.
func (t *topReader) add(k topKey, dropped uint64) {
	if t.keep != nil && !t.keep(&k) || t.last != nil && t.last.compare(&k) < 0 {
		return
	}
	k.dropped = dropped
	at := len(t.text)
	t.text = append(t.text, k.text...)
	k.text = t.text[at:len(t.text):len(t.text)]
	t.keys = append(t.keys, k)
}

func (m *summary) entry(e uint8) topKey {
	entry := &m.entries[e]
	return topKey{
		text: entry.key(), Least: uint64(m.most[e] - entry.excess), Most: uint64(m.most[e]),
		First: entry.first, Last: entry.last,
	}
}

// top is that of a topReader that is used once.
func (s *sketch) top(second uint32, n int) topKeys {
	var t topReader
	return t.top(s, second, n)
}
