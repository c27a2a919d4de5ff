package limiter

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// waitLines are the lines of those who wait for a unit of a key. A key has one only while somebody waits for it. The
// zero value is ready to use, and has no goroutine.
type waitLines struct {
	mu    sync.Mutex // guards all lines
	byKey map[string]*waitLine
	seq   uint64
}

// waitLine is those who wait for one key, in the order of their arrival. It knows as much of the key as the latest
// answers of the store said.
type waitLine struct {
	key       string
	waiting   []*waiter   // for their turn to ask
	asking    int         // how many have theirs
	remaining int64       // how many more may ask because there are units for them
	freeAt    time.Time   // before it there is no unit; zero if unknown
	timer     *time.Timer // to that moment
}

// waiter is one call of Wait.
type waiter struct {
	line        *waitLine
	seq         uint64
	deadline    time.Time // of its context; zero without one
	hasDeadline bool
	turn        chan error // nil when it is its turn to ask, else what to return
	asking      bool       // it has its turn
	gone        bool
}

// join appends a waiter to the line of key. It has its turn at once if there may be a unit for it.
func (s *waitLines) join(ctx context.Context, key string) *waiter {
	w := &waiter{turn: make(chan error, 1)}
	w.deadline, w.hasDeadline = ctx.Deadline()
	s.mu.Lock()
	defer s.mu.Unlock()
	line := s.byKey[key]
	if line == nil {
		if s.byKey == nil {
			s.byKey = map[string]*waitLine{}
		}
		line = &waitLine{key: key}
		s.byKey[key] = line
	}
	s.seq++
	w.line, w.seq = line, s.seq
	if now := time.Now(); w.tooLate(line.freeAt) && now.Before(line.freeAt) {
		w.dismiss(line.freeAt.Sub(now))
		return w
	}
	line.waiting = append(line.waiting, w)
	s.advance(line)
	return w
}

// leave takes out a waiter, unless it is out.
func (s *waitLines) leave(w *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.gone {
		return
	}
	w.gone = true
	line := w.line
	if w.asking {
		line.asking--
	} else {
		line.waiting = slices.DeleteFunc(line.waiting, func(other *waiter) bool { return other == w })
	}
	s.advance(line)
}

// served takes out a waiter that has its unit. The store has said how many more there are.
func (s *waitLines) served(w *waiter, remaining int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	line := w.line
	w.gone = true
	line.asking--
	line.remaining = max(0, remaining-int64(line.asking)) // the others who ask now may take theirs of them
	line.freeAt = time.Time{}
	s.advance(line)
}

// refused puts a waiter back into its place. All in the line know now that there is no unit before that time has
// passed: for whom that is too long is dismissed. It returns the error if that is w itself.
func (s *waitLines) refused(w *waiter, wait time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	line := w.line
	w.asking = false
	line.asking--
	line.remaining = 0
	at, _ := slices.BinarySearchFunc(line.waiting, w, func(a, b *waiter) int { return cmp.Compare(a.seq, b.seq) })
	line.waiting = slices.Insert(line.waiting, at, w)
	if line.freeAt = (time.Time{}); wait != Never {
		line.freeAt = time.Now().Add(wait)
	}
	var own error
	line.waiting = slices.DeleteFunc(line.waiting, func(other *waiter) bool {
		if wait != Never && !other.tooLate(line.freeAt) {
			return false
		}
		if other == w {
			w.gone = true
			own = tooLong(wait)
		} else {
			other.dismiss(wait)
		}
		return true
	})
	s.advance(line)
	return own
}

// freed has the first one in the line of key ask at once: units have been given back.
func (s *waitLines) freed(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if line := s.byKey[key]; line != nil {
		line.freeAt = time.Time{}
		s.advance(line)
	}
}

// advance gives the first ones in line their turns: as many as there are units for, and one if nothing is known.
// Otherwise it sets the timer. A line in which nobody is left is gone.
func (s *waitLines) advance(line *waitLine) {
	for len(line.waiting) > 0 {
		if line.remaining == 0 {
			if line.asking > 0 {
				return
			}
			if wait := time.Until(line.freeAt); wait > 0 {
				s.wake(line, wait)
				return
			}
		}
		line.remaining = max(0, line.remaining-1)
		w := line.waiting[0]
		line.waiting[0] = nil
		line.waiting = line.waiting[1:]
		line.asking++
		w.asking = true
		w.turn <- nil
	}
	if line.asking == 0 {
		if line.timer != nil {
			line.timer.Stop()
		}
		if s.byKey[line.key] == line {
			delete(s.byKey, line.key)
		}
	}
}

// wake calls advance after that time.
func (s *waitLines) wake(line *waitLine, wait time.Duration) {
	if line.timer != nil {
		line.timer.Reset(wait)
		return
	}
	line.timer = time.AfterFunc(wait, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.advance(line)
	})
}

// tooLate reports whether the context of w ends before that moment.
func (w *waiter) tooLate(moment time.Time) bool { return w.hasDeadline && w.deadline.Before(moment) }

// dismiss has w return an error, as a unit is free only after that time.
func (w *waiter) dismiss(wait time.Duration) {
	w.gone = true
	w.turn <- tooLong(wait)
}
