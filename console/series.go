package console

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/httplimit/httplimit"
)

// maxSeries bounds the memory: a rule takes up to 1 MB. Where there are more, those that nothing was counted of for as
// long as is shown give way; while there are none, rules beyond it are counted among all requests only.
const maxSeries = 512

// series is what is counted of one rule. Rules of equal Namespace and name are one, as their counters in a store are.
type series struct {
	history         history // begins on a cache line
	namespace, rule string
	refused         lazySketch    // by key, what was refused or would have been
	near            lazySketch    // by key, what was allowed with less than a fifth of the limit left
	seen            atomic.Uint32 // the second of the latest count
}

// count counts a decision, and the key if that is refused or near its limit.
func (s *series) count(r *httplimit.Observed, stripe uint, second uint32, n counter) {
	var sketch *lazySketch
	switch n % kinds {
	case nearStore, nearLocal:
		sketch = &s.near
	case refusedStore, refusedCache, refusedLocal, shadowStore, shadowCache, shadowLocal, bannedStore, bannedCache:
		sketch = &s.refused
	}
	if sketch == nil || !sketch.count(r, second, n, &s.history) {
		s.history.count(stripe, second, n)
	}
}

// read adds to each of into what was counted in one second, the first of them from.
func (s *series) read(from uint32, into []tally) {
	s.refused.flush(&s.history)
	s.near.flush(&s.history)
	s.history.read(from, into)
}

// gone is the second in which a series that has given way is seen.
const gone = math.MaxUint32

// see takes note that something is counted, and returns false if the series has given way: then it is not to be counted
// there. It writes once a second, as all requests share the place.
func (s *series) see(second uint32) bool {
	for {
		latest := s.seen.Load()
		if latest >= second {
			return latest != gone
		}
		if s.seen.CompareAndSwap(latest, second) {
			return true
		}
	}
}

// giveWay reports whether nothing of the series is shown any more, and from then on nothing is counted there. The first
// bucket may begin a few seconds before the time that is kept.
func (s *series) giveWay(second uint32) bool {
	latest := s.seen.Load()
	return second-min(latest, second) > keptSeconds+bucketSeconds && s.seen.CompareAndSwap(latest, gone)
}

// lazySketch takes memory only where something is counted.
type lazySketch struct {
	sketch atomic.Pointer[sketch]
}

func (l *lazySketch) count(r *httplimit.Observed, second uint32, n counter, h *history) (counted bool) {
	s := l.sketch.Load()
	if s == nil {
		l.sketch.CompareAndSwap(nil, newSketch())
		s = l.sketch.Load()
	}
	return s.count(r, second, n, h)
}

func (l *lazySketch) flush(h *history) {
	if s := l.sketch.Load(); s != nil {
		s.flush(h)
	}
}

// top is that of a topReader.
func (l *lazySketch) top(t *topReader, second uint32, n int) topKeys {
	if s := l.sketch.Load(); s != nil {
		return t.top(s, second, n)
	}
	return topKeys{Since: (max(second/halfSpan, 1) - 1) * halfSpan}
}

// seriesTable holds the series of all rules. Requests read it without a lock.
type seriesTable struct {
	mu     sync.Mutex
	now    atomic.Pointer[seriesList] // copied when it changes
	denied atomic.Uint32              // the latest second in which a rule found no room; 0: never
}

type seriesList struct {
	list   []*series
	byName map[[2]string]*series
}

// fewSeries is up to how many looking through the list costs less than asking the map.
const fewSeries = 6

// find returns the series of a rule, which is likely to have that index; nil if there is none.
func (l *seriesList) find(namespace, rule string, index int) *series {
	if index < len(l.list) {
		if s := l.list[index]; s.rule == rule && s.namespace == namespace {
			return s
		}
	}
	if len(l.list) > fewSeries {
		return l.byName[[2]string{namespace, rule}]
	}
	for _, s := range l.list {
		if s.rule == rule && s.namespace == namespace {
			return s
		}
	}
	return nil
}

// all returns the series in the order in which they came.
func (t *seriesTable) all() []*series {
	if l := t.now.Load(); l != nil {
		return l.list
	}
	return nil
}

// full reports whether there were more rules than there is room for, in the time that is shown.
func (t *seriesTable) full(second uint32) bool {
	denied := t.denied.Load()
	return denied > 0 && second-min(denied, second) <= keptSeconds
}

// of returns the series of a rule, a new one if there is none; nil if there are too many. Whether one gives way is
// asked once a second.
func (t *seriesTable) of(namespace, rule string, index int, second uint32) *series {
	if l := t.now.Load(); l != nil {
		if s := l.find(namespace, rule, index); s != nil && s.see(second) {
			return s
		}
		if len(l.list) >= maxSeries && t.denied.Load() == second {
			return nil
		}
	}
	return t.add(namespace, rule, second)
}

func (t *seriesTable) add(namespace, rule string, second uint32) *series {
	t.mu.Lock()
	defer t.mu.Unlock()
	name := [2]string{namespace, rule}
	list := t.all()
	if l := t.now.Load(); l != nil && l.byName[name] != nil {
		return l.byName[name]
	}
	if len(list) >= maxSeries {
		list = slices.DeleteFunc(slices.Clone(list), func(s *series) bool { return s.giveWay(second) })
	}
	if len(list) >= maxSeries {
		t.denied.Store(second)
		return nil
	}
	s := &series{namespace: namespace, rule: rule}
	s.seen.Store(second)
	changed := &seriesList{list: append(slices.Clip(list), s), byName: make(map[[2]string]*series)}
	for _, s := range changed.list {
		changed.byName[[2]string{s.namespace, s.rule}] = s
	}
	t.now.Store(changed)
	return s
}
