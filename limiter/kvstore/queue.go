package kvstore

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/httplimit/httplimit/limiter/storekit"
)

const (
	// maxFlights is how many flights of one line may be under way. More than one only help while one is slow.
	maxFlights = 4

	// lateShare is the share of the time-out, one part in so many, after which a flight is late and no longer waited
	// for. It leaves waiting callers most of their time. A flight is up to three calls, one after the other, and one
	// that is begun beside another may lose to it.
	lateShare = 4

	// maxWaiting is how many callers of a store may wait for flights of others.
	maxWaiting = 16_384
)

// queue has callers who ask for one counter at the same moment share a flight, and has no goroutine for it. A caller
// for whose counters there is no flight flies at once, alone. Others wait in the line of the first such counter; when
// its flight ends, or is late, all who wait fly together. So a client that sends a thousand requests at once costs the
// KV little more than one request, and no connection of those that others need.
type queue struct {
	timeout time.Duration

	mu      sync.Mutex
	lines   map[uint64]*line // by the hash of a counter; two of equal hash share one line, which is no fault
	waiting int              // callers in all lines
	tally   tally
}

// line is the callers of some counters that are asked for together.
type line struct {
	counters []counter // under which it stands in lines
	flights  []*flight // under way, the latest last
	waiting  []*batch  // for the next one, first come first
}

func newQueue(timeout time.Duration) *queue {
	return &queue{timeout: timeout, lines: map[uint64]*line{}}
}

// submit has b decided, alone or together with others. After an error nothing of b is kept.
func (s *Store) submit(ctx context.Context, b *batch) error {
	f, err := s.enter(ctx, b)
	switch {
	case err != nil:
	case f != nil:
		err = s.fly(ctx, f)
	default:
		err = s.wait(ctx, b)
	}
	if err != nil && b.claim() {
		return err
	}
	return b.err // its flight has answered: if that was just before the error, the answer holds
}

// wait returns when a flight has answered b, or with an error when its time is over or ctx ends.
func (s *Store) wait(ctx context.Context, b *batch) error {
	timer := time.NewTimer(s.timeout / lateShare)
	defer timer.Stop()
	for {
		select {
		case <-b.wake:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case now := <-timer.C:
			if !now.Before(b.ends) {
				return fmt.Errorf("kvstore: no answer within %v: %w", s.timeout, context.DeadlineExceeded)
			}
			timer.Reset(time.Until(s.queue.hurry(s, b)))
		}
	}
}

// enter returns a flight for the caller to fly, or nil if b waits for another's. A probe, by which a breaker finds out
// whether the KV is back, flies alone: nobody waits for it.
func (s *Store) enter(ctx context.Context, b *batch) (*flight, error) {
	if s.breaker.Open() {
		return b.ownFlight(nil), nil
	}
	now := time.Now()
	q := s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.find(b)
	if l == nil {
		l = &b.line
		q.open(l, b)
	}
	free := l.free(now, q.timeout)
	if free && len(l.waiting) == 0 {
		return q.fly(l, b.ownFlight(l), now), nil
	}
	if q.waiting >= maxWaiting {
		return nil, &storekit.UnavailableError{Err: storekit.ErrBusy}
	}
	b.ctx, b.waitsIn = ctx, l
	b.wake, b.ends = make(chan struct{}), now.Add(q.timeout)
	l.waiting = append(l.waiting, b)
	q.waiting++
	if free {
		q.launch(s, l, now)
	}
	return nil, nil
}

// find returns the line of the first of b's counters that has one, or nil.
func (q *queue) find(b *batch) *line {
	for i := range b.counters {
		if l := q.lines[b.counters[i].hash]; l != nil {
			return l
		}
	}
	return nil
}

// open makes l the line for the counters of b.
func (q *queue) open(l *line, b *batch) {
	l.counters, l.flights = b.counters, b.single.flights[:0]
	for i := range b.counters {
		q.lines[b.counters[i].hash] = l
	}
}

// ownFlight returns a flight of b alone, with the memory of b.
func (b *batch) ownFlight(l *line) *flight {
	b.flight.batches, b.flight.line = b.single.batches[:], l
	return &b.flight
}

// fly notes that f is under way.
func (q *queue) fly(l *line, f *flight, now time.Time) *flight {
	f.began = now
	l.flights = append(l.flights, f)
	return f
}

// begin makes a flight of all who wait in l, or returns nil if nobody does any more.
func (q *queue) begin(l *line, now time.Time) *flight {
	q.waiting -= len(l.waiting)
	batches := slices.DeleteFunc(l.waiting, func(b *batch) bool { return b.claimed.Load() })
	l.waiting = nil
	if len(batches) == 0 {
		return nil
	}
	for _, b := range batches {
		b.inFlight = true
	}
	return q.fly(l, &flight{batches: batches, line: l}, now)
}

// end counts f, which ended with err, makes room for the flight after it, and has that fly. It is harmless to repeat.
func (q *queue) end(s *Store, f *flight, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !f.ended && f.sent.Load() {
		f.ended = true
		q.tally.flight(f, err)
	}
	l := f.line
	if l == nil {
		return
	}
	l.flights = slices.DeleteFunc(l.flights, func(other *flight) bool { return other == f })
	if len(l.waiting) > 0 {
		if now := time.Now(); l.free(now, q.timeout) {
			q.launch(s, l, now)
		}
	}
	if len(l.flights) > 0 || len(l.waiting) > 0 {
		return
	}
	for i := range l.counters {
		if hash := l.counters[i].hash; q.lines[hash] == l {
			delete(q.lines, hash)
		}
	}
}

// hurry has all who wait with b fly if the flight that they wait for is late, and returns when to look again.
func (q *queue) hurry(s *Store, b *batch) time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	if b.inFlight {
		return b.ends
	}
	now, l := time.Now(), b.waitsIn
	if l.free(now, q.timeout) {
		q.launch(s, l, now)
		return b.ends
	}
	again := l.flights[len(l.flights)-1].began.Add(q.timeout / lateShare)
	if len(l.flights) >= maxFlights {
		again = l.flights[0].began.Add(q.timeout)
	}
	if again.After(b.ends) {
		return b.ends
	}
	return again
}

// launch has all who wait in l fly. The flight has the values of the first one's context.
func (q *queue) launch(s *Store, l *line, now time.Time) {
	if f := q.begin(l, now); f != nil {
		go s.fly(context.WithoutCancel(f.batches[0].ctx), f)
	}
}

// free reports whether a flight may start now: always the first, another one when the latest is late.
func (l *line) free(now time.Time, timeout time.Duration) bool {
	l.flights = slices.DeleteFunc(l.flights, func(f *flight) bool { return f.over(now, timeout) })
	switch n := len(l.flights); n {
	case 0:
		return true
	case maxFlights:
		return false
	default:
		return now.Sub(l.flights[n-1].began) >= timeout/lateShare
	}
}
