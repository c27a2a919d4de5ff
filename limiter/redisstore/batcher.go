package redisstore

import (
	"context"
	"hash/maphash"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/httplimit/httplimit/limiter/storekit"
)

const (
	// maxKeys bounds a flight. A script of 128 keys takes the server some 200 µs, in which it serves nobody else, and
	// larger ones save little more.
	maxKeys = 128

	// maxFlights is how many flights may be under way to one server. More than two only help while one is slow, or the
	// server is far: see pace.
	maxFlights = 4

	// enough is how many callers make a second flight start while the first is under way, so that the server decides
	// while this side writes and reads.
	enough = 32

	// lateShare is the share of the time-out, one part in so many, after which a flight is late and no longer waited
	// for. It leaves waiting callers most of their time.
	lateShare = 8

	// maxWaiting is how many callers may wait for one server; 10,000 are served within some 30 ms.
	maxWaiting = 16_384
)

// batcher brings batches to one server, many in one flight where many callers come at once, and has no goroutine for
// it. A caller that finds the batcher free leads a flight of its own at once. Callers that come meanwhile wait; when
// the flight ends, or is late, the first of them leads the next and takes all the others along. Where enough of them
// have come, the last does so at once, beside the flight under way.
type batcher struct {
	send    func(context.Context, []*batch) []outcome
	clock   *storekit.Clock
	timeout time.Duration
	inline  bool              // the client heeds deadlines: a leader may make the call in its own goroutine
	breaker *storekit.Breaker // nil: none
	contact *contact          // nil: none
	pace    *pace             // of the way to the server
	seed    maphash.Seed      // for the order of batches in a flight
	refused refusedLately

	mu      sync.Mutex
	waiting []*batch
	flights []*flight     // under way, the latest last
	crowded bool          // several callers went together lately
	tally   tally         // of the flights that have ended
	sample  string        // a key of this server, the latest that was sent
	sent    time.Duration // moment of the latest flight
	timer   *time.Timer   // calls ring; nil until it has to
	alarm   time.Duration // when it does; 0: not at all
}

// run has the batch decided in one flight, its own or another's, and reports whether another may be worth it.
func (b *batcher) run(ctx context.Context, own *batch) (again bool, err error) {
	f, err := b.enter(own)
	for err == nil {
		if f != nil {
			b.lead(ctx, f)
		}
		select {
		case f = <-own.wake:
			if f == nil {
				own.lost = own.outcome.unknown
				return own.outcome.again, own.outcome.err
			}
		case <-ctx.Done():
			own.lost = b.leave(own)
			err = ctx.Err()
		}
	}
	return false, err
}

// enter returns a flight for the caller to lead, or nil if it has to wait.
func (b *batcher) enter(own *batch) (*flight, error) {
	if b.breaker.Open() {
		return b.probe(own)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.free(own.start) {
		return b.begin(&flight{batches: b.collect([]*batch{own})}), nil
	}
	if len(b.waiting) >= maxWaiting {
		return nil, &storekit.UnavailableError{Err: storekit.ErrBusy}
	}
	own.inFlight = false
	b.waiting = append(b.waiting, own)
	if len(b.waiting) == 1 {
		b.watch(b.late())
	}
	return nil, nil
}

// probe is how the batcher is entered while the server is taken to be down: alone, and rarely.
func (b *batcher) probe(own *batch) (*flight, error) {
	permit, err := b.breaker.Begin(own.start)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.begin(&flight{batches: []*batch{own}, permit: permit, permitted: true}), nil
}

// knock has the contact probe the server in place of a call, where there are none: a service that says it is not ready
// gets none, and would never be ready again.
func (b *batcher) knock() {
	const idle = 2 * time.Second // the breaker probes once a second where there are calls
	b.mu.Lock()
	sent := b.sent
	b.mu.Unlock()
	if now := b.clock.Now(); now-sent > idle {
		b.contact.knock(now)
	}
}

// free reports whether a flight may start now: always the first; the second when enough callers want one; others when
// the latest is late.
func (b *batcher) free(now time.Duration) bool {
	switch n := len(b.flights); {
	case n == 0:
		return true
	case n >= b.mostFlights(): // probes come on top
		return false
	case n == 1 && len(b.waiting)+1 >= enough:
		return true
	}
	return b.late() <= now
}

// mostFlights returns how many flights may be under way. To a distant server they are no more than there are
// connections, as a call has no time to make one.
func (b *batcher) mostFlights() int {
	most := b.pace.flights(b.timeout)
	if b.pace.far(b.timeout) {
		most = min(most, b.contact.connections())
	}
	return most
}

// late returns when the latest flight is late.
func (b *batcher) late() time.Duration {
	return b.flights[len(b.flights)-1].began + b.pace.late(b.timeout)
}

// collect takes waiting batches along with those that are in a flight already, up to a full flight.
func (b *batcher) collect(batches []*batch) []*batch {
	keys := 0
	for _, w := range batches {
		keys += len(w.keys)
	}
	batches = slices.Grow(batches, min(len(b.waiting), maxKeys))
	collected := 0
	for _, w := range b.waiting {
		if !w.gone {
			if keys += len(w.keys); keys > maxKeys && len(batches) > 0 {
				break
			}
			w.inFlight = true
			batches = append(batches, w)
		}
		collected++
	}
	clear(b.waiting[:collected])
	b.waiting = b.waiting[collected:]
	return batches
}

// gather lets those come along who are about to ask: callers who have their answer from the flight before ask again, or
// return and leave the processor to others. A leader who is alone, as the one before was, does not wait for anybody. It
// returns the time, which was now before.
func (b *batcher) gather(f *flight, now time.Duration) time.Duration {
	if f.permitted || len(f.batches) == 1 && !f.crowded { // a probe goes alone
		return now
	}
	runtime.Gosched()
	b.mu.Lock()
	f.batches = b.collect(f.batches)
	b.crowded = len(f.batches) > 1
	b.mu.Unlock()
	return b.clock.Now()
}

func (b *batcher) begin(f *flight) *flight {
	f.batches[0].inFlight = true // collect has seen to the others
	f.began = b.clock.Now()
	f.done, f.crowded = make(chan struct{}), b.crowded
	b.flights = append(b.flights, f)
	if len(b.waiting) > 0 {
		b.watch(b.late())
	}
	return f
}

// end makes room for the flight after f.
func (b *batcher) end(f *flight) {
	b.flights = slices.DeleteFunc(b.flights, func(other *flight) bool { return other == f })
	if len(b.flights) < b.mostFlights() {
		b.beginWaiting()
	}
}

// beginWaiting begins a flight for the callers that wait, if any: the first of them leads it.
func (b *batcher) beginWaiting() {
	if batches := b.collect(nil); len(batches) > 0 {
		batches[0].wake <- b.begin(&flight{batches: batches})
	}
}

// watch sets the timer that calls ring to that moment. An earlier alarm stays, as ring sets the next: to set it anew
// for each flight would cost more than all else here.
func (b *batcher) watch(at time.Duration) {
	if b.alarm != 0 && b.alarm <= at {
		return
	}
	b.alarm = at
	wait := at - b.clock.Now()
	if b.timer == nil {
		b.timer = time.AfterFunc(wait, b.ring)
		return
	}
	b.timer.Reset(wait)
}

// ring ends flights whose time is over, begins one for callers that wait behind a late one where no other caller came
// to take them along, and sets the next alarm.
func (b *batcher) ring() {
	b.mu.Lock()
	b.alarm = 0
	now := b.clock.Now()
	var over []*flight
	for _, f := range b.flights {
		switch {
		case f.ends == 0: // nobody leads it yet
		case f.ends <= now:
			over = append(over, f)
		default:
			b.watch(f.ends)
		}
	}
	if len(b.waiting) > 0 && len(b.flights) < b.mostFlights() { // otherwise the end of a flight begins the next
		if late := b.late(); late > now {
			b.watch(late)
		} else {
			b.beginWaiting()
		}
	}
	b.mu.Unlock()
	for _, f := range over {
		b.finish(f, nil, b.tooLate(), storekit.Failed)
	}
}

// leave takes a batch out whose caller's context has ended. If it was already chosen to lead, another does. It reports
// whether the batch may be spent all the same.
func (b *batcher) leave(own *batch) (sent bool) {
	b.mu.Lock()
	own.gone = true
	sent = own.inFlight
	b.mu.Unlock()
	select {
	case f := <-own.wake:
		if f == nil {
			return own.outcome.err == nil || own.outcome.unknown
		}
		b.passOn(f)
		return false
	default:
	}
	return sent
}

// passOn has another lead a flight that nobody has sent.
func (b *batcher) passOn(f *flight) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f.batches = slices.DeleteFunc(f.batches, func(w *batch) bool { return w.gone })
	if len(f.batches) == 0 {
		b.breaker.End(f.permit, b.clock.Now(), storekit.Undecided, nil)
		b.end(f)
		return
	}
	f.batches[0].wake <- f
}
