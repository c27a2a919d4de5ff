package console

import (
	"sync"
	"sync/atomic"
)

// maxSeries bounds the memory: a rule takes up to 1 MB. Rules beyond it are counted among all requests only.
const maxSeries = 512

// series is what is counted of one rule. Rules of equal Namespace and name are one, as their counters in a store are.
type series struct {
	namespace, rule string
	history         history
	refused         lazySketch // by key, what was refused or would have been
	near            lazySketch // by key, what was allowed with less than a fifth of the limit left
}

// lazySketch takes memory only where something is counted.
type lazySketch struct {
	sketch atomic.Pointer[sketch]
}

func (l *lazySketch) count(key string, seen sighting) {
	s := l.sketch.Load()
	if s == nil {
		l.sketch.CompareAndSwap(nil, newSketch())
		s = l.sketch.Load()
	}
	s.count(key, seen)
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
	mu  sync.Mutex
	now atomic.Pointer[seriesList] // copied when it grows
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

// of returns the series of a rule, a new one if there is none; nil if there are too many.
func (t *seriesTable) of(namespace, rule string, index int) *series {
	if l := t.now.Load(); l != nil {
		if s := l.find(namespace, rule, index); s != nil {
			return s
		}
		if len(l.list) >= maxSeries {
			return nil
		}
	}
	return t.add(namespace, rule)
}

func (t *seriesTable) add(namespace, rule string) *series {
	t.mu.Lock()
	defer t.mu.Unlock()
	grown := &seriesList{byName: make(map[[2]string]*series)}
	for _, s := range t.all() {
		grown.list = append(grown.list, s)
		grown.byName[[2]string{s.namespace, s.rule}] = s
	}
	name := [2]string{namespace, rule}
	if s := grown.byName[name]; s != nil || len(grown.list) >= maxSeries {
		return s
	}
	s := &series{namespace: namespace, rule: rule}
	grown.list = append(grown.list, s)
	grown.byName[name] = s
	t.now.Store(grown)
	return s
}
