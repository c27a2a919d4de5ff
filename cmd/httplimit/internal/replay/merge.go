package replay

import (
	"container/heap"
	"time"

	"github.com/httplimit/httplimit/cmd/httplimit/internal/accesslog"
)

// Source is where the entries of one log come from. Next returns nil after the last one. An entry stays as it is.
type Source interface {
	Next() *accesslog.Entry
}

// Merge returns the entries of several logs in the order of their times; those of equal time in the order of the logs,
// and within a log in that of its lines.
//
// A log may be out of order by maxReorder: a line is put in order unless lines before it tell a later time by more than
// that. Lines that are further behind are left out and counted.
type Merge struct {
	maxReorder int64 // milliseconds
	logs       logHeap
	late       int64
	reordered  int64
}

// maxWaiting is how many lines of one log wait to be put in order, and maxWaitingBytes how many bytes they have. Where
// more than these come within maxReorder the order reaches only so far, which bounds the memory.
const (
	maxWaiting      = 100_000
	maxWaitingBytes = 64 << 20
)

// NewMerge begins to merge logs.
func NewMerge(sources []Source, maxReorder time.Duration) *Merge {
	m := &Merge{maxReorder: maxReorder.Milliseconds()}
	for i, s := range sources {
		l := &orderedLog{source: s, place: i, merge: m}
		if l.start() {
			m.logs = append(m.logs, l)
		}
	}
	heap.Init(&m.logs)
	return m
}

// Next returns the next entry; nil after the last one.
func (m *Merge) Next() *accesslog.Entry {
	for len(m.logs) > 0 {
		l := m.logs[0]
		if !l.filled {
			l.fill()
			heap.Fix(&m.logs, 0)
			continue
		}
		if len(l.waiting) == 0 {
			heap.Pop(&m.logs)
			continue
		}
		e := l.pop()
		l.fill()
		heap.Fix(&m.logs, 0)
		return e
	}
	return nil
}

// Late returns how many lines were left out, and Reordered how many were put in order, up to now.
func (m *Merge) Late() int64      { return m.late }
func (m *Merge) Reordered() int64 { return m.reordered }

// orderedLog is one log, put in order.
type orderedLog struct {
	source  Source
	place   int // among the logs
	merge   *Merge
	waiting entryHeap
	bytes   int // of the entries that wait
	lines   int64
	newest  int64 // the latest time read
	last    int64 // the time given out last
	filled  bool  // its first entry is known to be that
	ended   bool
}

// start reads the first line, which tells when the log can begin at the earliest. The lines behind it are read when the
// merge has come there, so that of many logs only those wait that are under way.
func (l *orderedLog) start() bool {
	e := l.source.Next()
	if e == nil {
		return false
	}
	l.newest, l.last = e.At, -1
	l.push(e)
	return true
}

// fill reads until the first entry is sure to be that.
func (l *orderedLog) fill() {
	l.filled = true
	for !l.ended && (len(l.waiting) == 0 || l.newest-l.waiting[0].at <= l.merge.maxReorder) &&
		len(l.waiting) < maxWaiting && l.bytes < maxWaitingBytes {
		e := l.source.Next()
		switch {
		case e == nil:
			l.ended = true
		case e.At < l.newest-l.merge.maxReorder || e.At < l.last:
			l.merge.late++
		default:
			if e.At < l.newest {
				l.merge.reordered++
			}
			l.newest = max(l.newest, e.At)
			l.push(e)
		}
	}
}

func (l *orderedLog) push(e *accesslog.Entry) {
	l.lines++
	l.bytes += e.Size()
	l.waiting.push(waitingEntry{e.At, l.lines, e})
}

func (l *orderedLog) pop() *accesslog.Entry {
	e := l.waiting.pop().entry
	l.last = e.At
	l.bytes -= e.Size()
	return e
}

// bound returns a time that no entry to come is before.
func (l *orderedLog) bound() int64 {
	switch {
	case len(l.waiting) == 0:
		return l.last
	case !l.filled:
		return l.waiting[0].at - l.merge.maxReorder
	}
	return l.waiting[0].at
}

type waitingEntry struct {
	at, line int64
	entry    *accesslog.Entry
}

func (w *waitingEntry) before(o *waitingEntry) bool {
	return w.at < o.at || w.at == o.at && w.line < o.line
}

// entryHeap has the entry of the smallest time on top, of equal ones the first line. Every line goes through it, so it
// does without the interfaces of container/heap.
type entryHeap []waitingEntry

func (h *entryHeap) push(e waitingEntry) {
	*h = append(*h, e)
	all := *h
	for i := len(all) - 1; i > 0; {
		up := (i - 1) / 2
		if !all[i].before(&all[up]) {
			return
		}
		all[i], all[up] = all[up], all[i]
		i = up
	}
}

func (h *entryHeap) pop() waitingEntry {
	all := *h
	top, last := all[0], len(all)-1
	all[0], all[last] = all[last], waitingEntry{}
	all = all[:last]
	*h = all
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if all[child].before(&all[least]) {
				least = child
			}
		}
		if least == i {
			return top
		}
		all[i], all[least] = all[least], all[i]
		i = least
	}
}

// logHeap has the log of the smallest bound on top, of equal ones the first log.
type logHeap []*orderedLog

func (h logHeap) Len() int      { return len(h) }
func (h logHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h logHeap) Less(i, j int) bool {
	if a, b := h[i].bound(), h[j].bound(); a != b {
		return a < b
	}
	return h[i].place < h[j].place
}
func (h *logHeap) Push(x any) { *h = append(*h, x.(*orderedLog)) }
func (h *logHeap) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return x
}
