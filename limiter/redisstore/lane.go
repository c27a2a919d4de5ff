package redisstore

import (
	"context"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/httplimit/httplimit/limiter/storekit"
)

const (
	// maxKeys bounds a trip. A script of 128 keys takes the server some 200 µs, in which it serves nobody else, and
	// larger ones save little more.
	maxKeys = 128

	// maxTrips is how many trips may be under way to one server. More than two only help while one is slow.
	maxTrips = 4

	// worthTrip is how many callers make a second trip start while the first is under way, so that the server decides
	// while this side writes and reads.
	worthTrip = 32

	// maxWaiting is how many callers may wait for one server; 10,000 are served within some 30 ms.
	maxWaiting = 16_384

	// A trip is late after this many usual ones, and not before the shortest: less is the noise of a busy machine.
	lateAfter     = 4
	shortestDelay = time.Millisecond

	// Those who wait behind a late trip and are taken along by nobody go after so many times the delay. Sooner, a
	// busy machine would cut many trips in two, and each costs the server as much as several callers.
	reliefAfter = 4

	// usualOver is over how many trips the usual time of one is averaged.
	usualOver = 8
)

// lane brings batches to one server, many in one trip where many callers come at once, and has no goroutine for it.
// A caller that finds the lane free leads a trip of its own at once. Those who come meanwhile wait; when the trip
// ends, or is late, the first of them leads the next and takes all the others along. Where worthTrip of them have come
// the last does so at once, beside the trip under way.
type lane struct {
	send    func(context.Context, []*batch) []outcome
	clock   *storekit.Clock
	timeout time.Duration
	inline  bool              // the client heeds deadlines: a leader may make the call in its own goroutine
	breaker *storekit.Breaker // nil: none
	seed    maphash.Seed      // for the order of batches in a trip

	mu      sync.Mutex
	waiting []*batch
	trips   []*trip       // under way, the latest last
	usual   time.Duration // how long trips took lately
	timer   *time.Timer   // calls ring; nil until it has to
	alarm   time.Duration // when it does; 0: not at all
}

// ride has the batch decided in one trip, its own or another's, and tells whether it may be worth another.
func (l *lane) ride(ctx context.Context, b *batch) (again bool, err error) {
	t, err := l.enter(b)
	for err == nil {
		if t != nil {
			l.lead(ctx, t)
		}
		select {
		case t = <-b.wake:
			if t == nil {
				return b.outcome.again, b.outcome.err
			}
		case <-ctx.Done():
			l.leave(b)
			err = ctx.Err()
		}
	}
	return false, err
}

// enter returns a trip for the caller to lead, or nil if it has to wait.
func (l *lane) enter(b *batch) (*trip, error) {
	if l.breaker.Open() {
		return l.probe(b)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.free(b.start) {
		return l.begin(&trip{batches: l.gather(b)}), nil
	}
	if len(l.waiting) >= maxWaiting {
		return nil, &storekit.UnavailableError{Err: storekit.ErrBusy}
	}
	l.waiting = append(l.waiting, b)
	if len(l.waiting) == 1 {
		l.rouse(l.relief())
	}
	return nil, nil
}

// probe is how the lane is entered while the server is taken to be down: alone, and rarely.
func (l *lane) probe(b *batch) (*trip, error) {
	permit, err := l.breaker.Begin(b.start)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.begin(&trip{batches: []*batch{b}, permit: permit, permitted: true}), nil
}

// free tells whether a trip may start now: always the first; the second when enough wait; others when all under way are
// late, or when trips take so long that whoever waited for one and then made another would run out of time.
func (l *lane) free(now time.Duration) bool {
	if len(l.trips) == 0 {
		return true
	}
	if len(l.trips) >= maxTrips {
		return false
	}
	if len(l.trips) == 1 && len(l.waiting)+1 >= worthTrip {
		return true
	}
	return l.usual > l.timeout/4 || now-l.trips[len(l.trips)-1].began > l.late()
}

// late is after how long a trip is.
func (l *lane) late() time.Duration {
	return min(max(lateAfter*l.usual, shortestDelay), l.timeout/8)
}

// rouse has ring called at that moment. An alarm that is set for a moment before is left alone, as it sets the next:
// to set it anew for each trip would cost more than all else here.
func (l *lane) rouse(at time.Duration) {
	if l.alarm != 0 && l.alarm <= at {
		return
	}
	l.alarm = at
	wait := at - l.clock.Now()
	if l.timer == nil {
		l.timer = time.AfterFunc(wait, l.ring)
		return
	}
	l.timer.Reset(wait)
}

// ring does what is due, and sets the next alarm: trips whose time is over end, and those who wait do not do so for all
// of a late trip where nobody else comes who would find the lane free.
func (l *lane) ring() {
	l.mu.Lock()
	l.alarm = 0
	now := l.clock.Now()
	var over []*trip
	for _, t := range l.trips {
		switch {
		case t.ends == 0: // nobody leads it yet
		case t.ends <= now:
			over = append(over, t)
		default:
			l.rouse(t.ends)
		}
	}
	if len(l.waiting) > 0 && len(l.trips) < maxTrips { // with maxTrips under way it is for next to do
		if relief := l.relief(); relief > now {
			l.rouse(relief)
		} else {
			l.follow()
		}
	}
	l.mu.Unlock()
	for _, t := range over {
		l.finish(t, nil, l.tooLate(), storekit.Failed)
	}
}

// relief is until when those who wait go on doing so behind the latest trip.
func (l *lane) relief() time.Duration {
	return l.trips[len(l.trips)-1].began + min(reliefAfter*l.late(), l.timeout/8)
}

// gather takes along who waits, up to a full trip. first, if any, leads.
func (l *lane) gather(first *batch) []*batch {
	batches := make([]*batch, 0, 1+min(len(l.waiting), maxKeys))
	keys := 0
	if first != nil {
		batches = append(batches, first)
		keys = len(first.keys)
	}
	taken := 0
	for _, b := range l.waiting {
		if !b.gone {
			if keys += len(b.keys); keys > maxKeys && len(batches) > 0 {
				break
			}
			batches = append(batches, b)
		}
		taken++
	}
	clear(l.waiting[:taken])
	l.waiting = l.waiting[taken:]
	return batches
}

func (l *lane) begin(t *trip) *trip {
	t.began = l.clock.Now()
	t.done = make(chan struct{})
	l.trips = append(l.trips, t)
	if len(l.waiting) > 0 {
		l.rouse(l.relief())
	}
	return t
}

// next makes room for the trip after t.
func (l *lane) next(t *trip) {
	l.trips = slices.DeleteFunc(l.trips, func(other *trip) bool { return other == t })
	if len(l.trips) < maxTrips {
		l.follow()
	}
}

// follow begins a trip for those who wait, if somebody does: the first of them leads it.
func (l *lane) follow() {
	if batches := l.gather(nil); len(batches) > 0 {
		batches[0].wake <- l.begin(&trip{batches: batches})
	}
}

// leave takes a batch out whose caller's context has ended. If it was already chosen to lead, another does.
func (l *lane) leave(b *batch) {
	l.mu.Lock()
	b.gone = true
	l.mu.Unlock()
	select {
	case t := <-b.wake:
		if t != nil {
			l.passOn(t)
		}
	default:
	}
}

// passOn has another lead a trip that did not begin.
func (l *lane) passOn(t *trip) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.batches = slices.DeleteFunc(t.batches, func(b *batch) bool { return b.gone })
	if len(t.batches) == 0 {
		l.breaker.End(t.permit, l.clock.Now(), storekit.Undecided)
		l.next(t)
		return
	}
	t.batches[0].wake <- t
}
