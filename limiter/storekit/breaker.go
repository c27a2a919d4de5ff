package storekit

import (
	"sync"
	"sync/atomic"
	"time"
)

// Outcome is how a trip ended. The zero value is [Undecided].
type Outcome uint8

const (
	// Undecided says nothing about the server: the caller's context ended first, or the request was one that
	// the store refuses to send, such as an unsupported algorithm.
	Undecided Outcome = iota
	// Succeeded is any answer of the server that let the store decide; a refusal is one.
	Succeeded
	// Failed is a trip that brought no such answer in time.
	Failed
)

const (
	failuresToOpen = 5           // fewer may be one restart or one lost connection
	timeoutsToOpen = 2           // a burst of failures at one moment is one event
	longestPause   = time.Second // how late a server that came back is noticed; one trip a second loads nobody
)

// Breaker stops trips to a server that is down, so that callers get their error at once and not after a deadline
// each. It opens after at least 5 failed trips that span at least two time-outs, without a success between them.
// While it is open single real trips probe the server, after pauses that double from two time-outs to one second;
// the first that succeeds closes it. No goroutine, nothing to close.
//
// Have one for each server, and count a trip once however many callers it carried. A nil *Breaker never opens. It
// is safe for concurrent use; while the server is well it costs two atomic loads a trip.
type Breaker struct {
	timeout           time.Duration
	shortest, longest time.Duration // pauses between probes

	open     atomic.Bool
	troubled atomic.Bool // failures is not 0

	mu       sync.Mutex    // guards what follows, and changes of the two above
	failures int           // since the last success
	first    time.Duration // moment of the first of them
	pause    time.Duration
	next     time.Duration // no probe before
	probe    uint64        // number of the latest probe
	probing  bool
}

// Permit is the right to one trip. Hand it to [Breaker.End].
type Permit struct{ probe uint64 }

// NewBreaker returns a closed breaker for trips that take at most timeout.
func NewBreaker(timeout time.Duration) *Breaker {
	shortest := timeoutsToOpen * timeout
	return &Breaker{timeout: timeout, shortest: shortest, longest: max(longestPause, shortest)}
}

// Begin asks whether a trip may start. The error is an [*UnavailableError] that wraps [ErrOpen] and tells the time
// until the next probe. Without an error, tell [Breaker.End] how the trip went.
func (b *Breaker) Begin(now time.Duration) (Permit, error) {
	if b == nil || !b.open.Load() {
		return Permit{}, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.open.Load() {
		return Permit{}, nil
	}
	if now < b.next {
		return Permit{}, &UnavailableError{RetryAfter: b.next - now, Err: ErrOpen}
	}
	// A probe that never reports, because its caller panicked, gives way to another after two time-outs.
	b.probe++
	b.probing = true
	b.next = now + timeoutsToOpen*b.timeout
	return Permit{probe: b.probe}, nil
}

// End reports how a trip went.
func (b *Breaker) End(p Permit, now time.Duration, how Outcome) {
	switch {
	case b == nil:
	case how == Succeeded:
		b.succeeded()
	case how == Failed:
		b.failed(p, now)
	case p.probe != 0:
		b.retract(p, now)
	}
}

// Open tells whether the breaker is open, for a readiness page.
func (b *Breaker) Open() bool { return b != nil && b.open.Load() }

func (b *Breaker) succeeded() {
	if !b.troubled.Load() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures, b.probing = 0, false
	b.troubled.Store(false)
	b.open.Store(false)
}

func (b *Breaker) failed(p Permit, now time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open.Load() {
		// Trips that started before it opened tell nothing new.
		if b.isProbing(p) {
			b.pause = min(2*b.pause, b.longest)
			b.next = now + b.pause
			b.probing = false
		}
		return
	}
	if b.failures == 0 {
		b.first = now
	}
	b.failures++
	b.troubled.Store(true)
	if b.failures >= failuresToOpen && now-b.first >= timeoutsToOpen*b.timeout {
		b.pause = b.shortest
		b.next = now + b.pause
		b.open.Store(true)
	}
}

// retract lets another caller probe at once: this one learned nothing.
func (b *Breaker) retract(p Permit, now time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open.Load() && b.isProbing(p) {
		b.next = now
		b.probing = false
	}
}

func (b *Breaker) isProbing(p Permit) bool { return b.probing && p.probe == b.probe }
