package storekit

import (
	"sync"
	"sync/atomic"
	"time"
)

// Outcome is how a call ended. The zero value is [Undecided].
type Outcome uint8

const (
	// Undecided says nothing about the server: the caller's context ended first, or the store refused to send the
	// request, for example because of an unsupported algorithm.
	Undecided Outcome = iota
	// Succeeded is any answer of the server that let the store decide; a refusal is one.
	Succeeded
	// Failed is a call without such an answer in time.
	Failed
)

const (
	failuresToOpen = 5           // fewer may be one restart or one lost connection
	timeoutsToOpen = 2           // a burst of failures at one moment is one event
	longestPause   = time.Second // a server that came back is noticed this late; one call a second is no load
)

// Breaker stops calls to a server that is down, so that callers get their error at once instead of waiting for a
// deadline each. It opens after at least 5 failed calls that span at least two time-outs, without a success between
// them. While it is open, single real calls probe the server, after pauses that double from two time-outs to one
// second; the first one that succeeds closes the breaker. It has no goroutine and need not be closed.
//
// Have one for each server. A call that several callers share counts once. A nil *Breaker never opens. It is safe for
// concurrent use; while the server is healthy it costs two atomic loads a call.
type Breaker struct {
	timeout           time.Duration
	shortest, longest time.Duration // pauses between probes

	open     atomic.Bool
	troubled atomic.Bool // failures is not 0

	mu       sync.Mutex    // guards the fields below, and changes of the two above
	failures int           // since the last success
	first    time.Duration // moment of the first of these failures
	pause    time.Duration // between two probes, at present
	next     time.Duration // moment of the next probe
	probe    uint64        // number of the latest probe
	probing  bool          // the latest probe has not ended
}

// Permit is the right to one call. Hand it to [Breaker.End].
type Permit struct{ probe uint64 }

// NewBreaker returns a closed breaker for calls that take at most timeout.
func NewBreaker(timeout time.Duration) *Breaker {
	shortest := timeoutsToOpen * timeout
	return &Breaker{timeout: timeout, shortest: shortest, longest: max(longestPause, shortest)}
}

// Begin returns an error if no call may be made now: an [*UnavailableError] that wraps [ErrOpen], with the time until
// the next probe. Without an error, make the call and report to [Breaker.End] how it ended.
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
	// After two time-outs another probe may follow, in case that this one never ends because its caller panicked.
	b.probe++
	b.probing = true
	b.next = now + timeoutsToOpen*b.timeout
	return Permit{probe: b.probe}, nil
}

// End reports how the call ended for which Begin gave the permit.
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

// Open reports whether the breaker is open, for a readiness page.
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
		// A call that began before the breaker opened says nothing new.
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

// retract allows another probe at once: this one learned nothing of the server.
func (b *Breaker) retract(p Permit, now time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open.Load() && b.isProbing(p) {
		b.next = now
		b.probing = false
	}
}

func (b *Breaker) isProbing(p Permit) bool { return b.probing && p.probe == b.probe }
