package replay

import (
	"container/heap"
	"time"

	"github.com/httplimit/httplimit/cmd/httplimit/internal/accesslog"
)

// Source is where the entries of one log come from. Next returns false after the last one.
type Source interface {
	Next() (accesslog.Entry, bool)
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

// maxWaiting is how many lines of one log wait to be put in order. Where more than these come within maxReorder the order
// reaches only so far, which bounds the memory.
const maxWaiting = 100_000

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

// Next returns the next entry; false after the last one.
func (m *Merge) Next() (accesslog.Entry, bool) {
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
		return e, true
	}
	return accesslog.Entry{}, false
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
	lines   int64
	newest  int64 // the latest time read
	last    int64 // the time given out last
	filled  bool  // its first entry is known to be that
	ended   bool
}

// start reads the first line, which tells when the log can begin at the earliest. The lines behind it are read when the
// merge has come there, so that of many logs only those wait that are under way.
func (l *orderedLog) start() bool {
	e, ok := l.source.Next()
	if !ok {
		return false
	}
	l.newest, l.last = e.At, -1
	l.push(e)
	return true
}

// fill reads until the first entry is sure to be that.
func (l *orderedLog) fill() {
	l.filled = true
	for !l.ended && (len(l.waiting) == 0 || l.newest-l.waiting[0].At <= l.merge.maxReorder) && len(l.waiting) < maxWaiting {
		e, ok := l.source.Next()
		switch {
		case !ok:
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

func (l *orderedLog) push(e accesslog.Entry) {
	l.lines++
	heap.Push(&l.waiting, &waitingEntry{e, l.lines})
}

func (l *orderedLog) pop() accesslog.Entry {
	e := heap.Pop(&l.waiting).(*waitingEntry).Entry
	l.last = e.At
	return e
}

// bound returns a time that no entry to come is before.
func (l *orderedLog) bound() int64 {
	switch {
	case len(l.waiting) == 0:
		return l.last
	case !l.filled:
		return l.waiting[0].At - l.merge.maxReorder
	}
	return l.waiting[0].At
}

type waitingEntry struct {
	accesslog.Entry
	line int64
}

// entryHeap has the entry of the smallest time on top, of equal ones the first line.
type entryHeap []*waitingEntry

func (h entryHeap) Len() int      { return len(h) }
func (h entryHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h entryHeap) Less(i, j int) bool {
	if h[i].At != h[j].At {
		return h[i].At < h[j].At
	}
	return h[i].line < h[j].line
}
func (h *entryHeap) Push(x any) { *h = append(*h, x.(*waitingEntry)) }
func (h *entryHeap) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return x
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
