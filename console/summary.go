package console

import "slices"

const (
	shardKeys = 128
	indexSize = 1024 // so many that a place is rarely taken by two: to look further is what processors guess wrong

	// maxKey is the longest key that a Middleware gives to its store, in bytes.
	maxKey = 128
)

// summary counts up to shardKeys keys. Where one more comes, it takes the place of a key that was counted least, and
// its count on top: so that is an upper bound, and what was there before is its excess.
//
// Which key gives way is found without keeping an order. No entry ever stands below least, as counts only grow and a
// new key is counted above it. So those that stand at least give way one after the other, in one round through all
// entries; when it is over, the lowest of all counts is the next least. As least grows with each round, and all counts
// together are shardKeys times that or more, the rounds take one step for each count, taken together.
type summary struct {
	keys    int
	total   uint64
	least   uint32           // what the latest key that gave way was counted
	round   int              // entries before it stand above least
	index   [indexSize]uint8 // by hash, the number of the first entry + 1; 0: none
	most    [shardKeys]uint32
	entries [shardKeys]keyEntry
}

type keyEntry struct {
	hash   uint64
	excess uint32
	first  uint32 // second
	last   sighting
	next   uint8 // number of the next entry with the same place in index + 1; 0: none
	len    uint8
	text   [maxKey]byte
}

func (e *keyEntry) key() []byte { return e.text[:e.len] }

func (m *summary) clear() {
	m.keys, m.total, m.least, m.round = 0, 0, 0, 0
	clear(m.index[:])
}

// count counts a key once, and returns its entry.
func (m *summary) count(hash uint64, key string, second uint32) *keyEntry {
	if len(key) > maxKey {
		key = key[:maxKey]
	}
	m.total++
	e, found := find(m, hash, key)
	if !found {
		e = m.admit(hash, key, second)
	}
	m.most[e]++
	return &m.entries[e]
}

// find returns the entry of a key.
func find[T string | []byte](m *summary, hash uint64, key T) (e uint8, found bool) {
	for at := m.index[hash%indexSize]; at != 0; at = m.entries[e].next {
		e = at - 1
		if entry := &m.entries[e]; entry.hash == hash && string(entry.key()) == string(key) {
			return e, true
		}
	}
	return 0, false
}

// admit returns an entry for a key that has none: a free one, else that of a key that was counted least.
func (m *summary) admit(hash uint64, key string, second uint32) (e uint8) {
	if m.keys < shardKeys {
		e = uint8(m.keys)
		m.keys++
		m.most[e] = 0
	} else {
		e = m.giveWay()
		m.unlink(e)
	}
	entry := &m.entries[e]
	entry.hash, entry.first, entry.excess = hash, second, m.most[e]
	entry.len = uint8(copy(entry.text[:], key))
	head := &m.index[hash%indexSize]
	*head, entry.next = e+1, *head
	return e
}

// giveWay returns an entry that was counted least.
func (m *summary) giveWay() uint8 {
	for {
		for m.round < shardKeys {
			e := m.round
			m.round++
			if m.most[e] == m.least {
				return uint8(e)
			}
		}
		m.least, m.round = slices.Min(m.most[:]), 0
	}
}

// unlink takes an entry out of the index.
func (m *summary) unlink(e uint8) {
	at := &m.index[m.entries[e].hash%indexSize]
	for *at != e+1 {
		at = &m.entries[*at-1].next
	}
	*at = m.entries[e].next
}

// unlisted returns how often a key without an entry may have been counted: it never came, or gave way when it was
// counted at most so often, as least only grows.
func (m *summary) unlisted() uint64 { return uint64(m.least) }
