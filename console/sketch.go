package console

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

const (
	sketchShards = 8
	shardKeys    = 128 // 1,024 keys in all
	indexSize    = 256 // at most half full

	// halfSpan is how many seconds one summary counts for. What is shown is that of the present span and the one
	// before: the last 7.5 to 15 minutes.
	halfSpan = keptSeconds / 2

	// maxKey is the longest key that a Middleware gives to its store, in bytes.
	maxKey = 128
)

// sketch finds the keys that are counted most among any number of them, in constant memory, by the algorithm
// Space-Saving (Metwally, Agrawal and El Abbadi, 2005), in shards by a hash under a secret of the process.
//
// For each key that it lists, least <= true <= most + dropped of its shard. A key that is not listed was counted at
// most as often as topKeys.Unlisted says: in each shard 1/128 of what that counted, or less. Where another goroutine
// holds the shard, a count is dropped, and counted as dropped, instead of waited for.
//
// Safe for concurrent use.
type sketch struct {
	seed   maphash.Seed
	shards [sketchShards]shard
}

type shard struct {
	mu      sync.Mutex
	span    uint32 // which one the present summary counts for: the second divided by halfSpan
	now     *summary
	before  *summary
	dropped atomic.Uint64
	// What dropped was when the present summary began, and the one before.
	droppedAtNow, droppedAtBefore uint64
}

// sighting is what is noted of a key each time that it is counted.
type sighting struct {
	second    uint32
	until     uint32 // the second at which it would pass again; 0: unknown or never
	remaining uint32
	limit     uint32 // the most that it could have
	result    uint8  // httplimit.Result
	noKey     bool
}

func newSketch() *sketch {
	s := &sketch{seed: maphash.MakeSeed()}
	for i := range s.shards {
		s.shards[i].now, s.shards[i].before = new(summary), new(summary)
	}
	return s
}

// count counts a key once.
func (s *sketch) count(key string, seen sighting) {
	hash := maphash.String(s.seed, key)
	sh := &s.shards[hash>>61]
	if !sh.mu.TryLock() {
		sh.dropped.Add(1)
		return
	}
	sh.turn(seen.second / halfSpan)
	sh.now.count(hash, key, seen)
	sh.mu.Unlock()
}

// turn makes the present summary that of a later span.
func (sh *shard) turn(span uint32) {
	if span <= sh.span {
		return
	}
	if span == sh.span+1 {
		sh.now, sh.before = sh.before, sh.now
	} else {
		sh.before.clear()
	}
	// What was dropped since the last turn belongs to the span before this one, or to this one.
	sh.droppedAtBefore, sh.droppedAtNow = sh.droppedAtNow, sh.dropped.Load()
	sh.now.clear()
	sh.span = span
}

// summary counts up to shardKeys keys. Where one more comes, it takes the place of the key that was counted least, and
// its count on top: so that is an upper bound, and what was there before is its error.
type summary struct {
	keys   int
	total  uint64
	index  [indexSize]uint8 // entries by hash, open addressing: number of the entry + 1, or 0
	order  [shardKeys]uint8 // numbers of the entries by count, the largest first
	place  [shardKeys]uint8 // of each entry in order
	hash   [shardKeys]uint64
	most   [shardKeys]uint32
	excess [shardKeys]uint32
	seen   [shardKeys]keyEntry
}

type keyEntry struct {
	first uint32 // second
	last  sighting
	len   uint8
	text  [maxKey]byte
}

func (e *keyEntry) key() []byte { return e.text[:e.len] }

func (m *summary) clear() {
	m.keys, m.total = 0, 0
	clear(m.index[:])
}

func (m *summary) count(hash uint64, key string, seen sighting) {
	if len(key) > maxKey {
		key = key[:maxKey]
	}
	m.total++
	e, found := find(m, hash, key)
	if !found {
		e = m.admit(hash, key, seen.second)
	}
	m.seen[e].last = seen
	m.raise(e)
}

// find returns the entry of a key.
func find[T string | []byte](m *summary, hash uint64, key T) (e uint8, found bool) {
	for i := uint8(hash); ; i++ {
		at := m.index[i]
		if at == 0 {
			return 0, false
		}
		if e = at - 1; m.hash[e] == hash && string(m.seen[e].key()) == string(key) {
			return e, true
		}
	}
}

// admit returns an entry for a key that has none: a free one, else that of the key that was counted least.
func (m *summary) admit(hash uint64, key string, second uint32) (e uint8) {
	if m.keys < shardKeys {
		e = uint8(m.keys)
		m.order[e], m.place[e] = e, e
		m.most[e], m.excess[e] = 0, 0
		m.keys++
	} else {
		e = m.order[shardKeys-1]
		m.unlink(e)
		m.excess[e] = m.most[e]
	}
	m.hash[e] = hash
	entry := &m.seen[e]
	entry.first, entry.len = second, uint8(copy(entry.text[:], key))
	i := uint8(hash)
	for m.index[i] != 0 {
		i++
	}
	m.index[i] = e + 1
	return e
}

// unlink removes an entry from the index, and moves those behind it that would not be found any more.
func (m *summary) unlink(e uint8) {
	hole := uint8(m.hash[e])
	for m.index[hole] != e+1 {
		hole++
	}
	for i := hole + 1; m.index[i] != 0; i++ {
		home := uint8(m.hash[m.index[i]-1])
		if i-home >= i-hole { // the hole lies between its home and its place
			m.index[hole] = m.index[i]
			hole = i
		}
	}
	m.index[hole] = 0
}

// raise adds 1 to an entry's count: it changes places with the first one of the same count, which keeps the order.
func (m *summary) raise(e uint8) {
	at, count := m.place[e], m.most[e]
	low, high := uint8(0), at
	if at > 0 && m.most[m.order[at-1]] > count {
		low = at // mostly: those at the top are far apart
	}
	for low < high {
		if mid := (low + high) / 2; m.most[m.order[mid]] > count {
			low = mid + 1
		} else {
			high = mid
		}
	}
	other := m.order[low]
	m.order[low], m.order[at] = e, other
	m.place[e], m.place[other] = low, at
	m.most[e]++
}

// unlisted returns how often a key without an entry may have been counted.
func (m *summary) unlisted() uint64 {
	if m.keys < shardKeys {
		return 0
	}
	return uint64(m.most[m.order[shardKeys-1]])
}
