package storekit

import (
	"context"
	"errors"
	"net"
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
// It keeps the first cause of an outage, for its errors and for [Breaker.State].
//
// Have one for each server. A call that several callers share counts once. A nil *Breaker never opens. It is safe for
// concurrent use; while the server is healthy it costs two atomic loads a call.
type Breaker struct {
	timeout           time.Duration
	shortest, longest time.Duration // pauses between probes
	stays             bool          // closed

	open      atomic.Bool
	unsettled atomic.Bool // the next success changes something: there was none yet, or failures or a cause after it

	mu        sync.Mutex    // guards the fields below, and changes of the two above
	failures  int           // since the last success
	first     time.Duration // moment of the first of these failures
	since     time.Time     // the same, by the wall clock
	well      time.Time     // when the first call succeeded after the last outage, or at all
	cause     error         // of these failures, nil if unknown
	explained bool          // cause is from Explain
	pause     time.Duration // between two probes, at present
	next      time.Duration // moment of the next probe
	probe     uint64        // number of the latest probe
	probing   bool          // the latest probe has not ended
}

// BreakerState is what a [Breaker] knows of its server at one moment.
type BreakerState struct {
	Open bool
	// Since is when the failures began if the breaker is open, else when the first call succeeded after the last
	// outage, or at all. It is the zero time while none has.
	Since     time.Time
	Cause     error     // why the calls fail; nil unless the breaker is open
	NextProbe time.Time // the zero time unless the breaker is open
}

// Permit is the right to one call. Hand it to [Breaker.End].
type Permit struct{ probe uint64 }

// Probe reports whether the call is a probe of a breaker that is open.
func (p Permit) Probe() bool { return p.probe != 0 }

// NewBreaker returns a closed breaker for calls that take at most timeout.
func NewBreaker(timeout time.Duration) *Breaker {
	shortest := timeoutsToOpen * timeout
	b := &Breaker{timeout: timeout, shortest: shortest, longest: max(longestPause, shortest)}
	b.unsettled.Store(true)
	return b
}

// NeverOpen returns a breaker that stays closed and only keeps the cause of failures, for a store whose breaker is
// switched off.
func NeverOpen() *Breaker {
	b := NewBreaker(0)
	b.stays = true
	return b
}

// Begin returns an error if no call may be made now: an [*UnavailableError] that wraps [ErrOpen] and the cause of the
// outage, with the time until the next probe. Without an error, make the call and report to [Breaker.End] how it ended.
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
		return Permit{}, &UnavailableError{RetryAfter: b.next - now, Since: b.since, Cause: b.cause, Err: ErrOpen}
	}
	// After two time-outs another probe may follow, in case that this one never ends because its caller panicked.
	b.probe++
	b.probing = true
	b.next = now + timeoutsToOpen*b.timeout
	return Permit{probe: b.probe}, nil
}

// End takes note of how the call ended for which Begin gave the permit. cause is the error of a call that Failed. It
// reports whether this failure opened the breaker, or was that of the latest probe: other failures say nothing new.
//
// Of the causes since the last success the breaker keeps the first one that says more than that a time-out was over.
func (b *Breaker) End(p Permit, now time.Duration, how Outcome, cause error) (decisive bool) {
	switch {
	case b == nil:
	case how == Succeeded:
		b.succeeded()
	case how == Failed:
		return b.failed(p, now, cause)
	case p.Probe():
		b.retract(p, now)
	}
	return false
}

// Explain reports why calls fail, where that was found out beside them: a call may only know that its time was over,
// while an attempt to connect knows that there is no such host. The first explanation since the last success stands,
// whatever calls report.
func (b *Breaker) Explain(cause error) {
	if b == nil || cause == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.explained {
		b.cause, b.explained = cause, true
		b.unsettled.Store(true)
	}
}

// Hasten lets a probe start at once, where something beside the calls says that the server answers again. It changes
// nothing while the breaker is closed.
func (b *Breaker) Hasten(now time.Duration) {
	if !b.Open() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next = min(b.next, now)
}

// Open reports whether the breaker is open, for a readiness page.
func (b *Breaker) Open() bool { return b != nil && b.open.Load() }

// Cause returns why calls have failed since the last success, nil if that is not known or none has.
func (b *Breaker) Cause() error {
	if b == nil || !b.unsettled.Load() {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cause
}

// State returns what the breaker knows of its server at a moment. A nil *Breaker knows nothing.
func (b *Breaker) State(now time.Duration) BreakerState {
	if b == nil {
		return BreakerState{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.open.Load() {
		return BreakerState{Since: b.well}
	}
	return BreakerState{Open: true, Since: b.since, Cause: b.cause, NextProbe: time.Now().Add(max(0, b.next-now))}
}

func (b *Breaker) succeeded() {
	if !b.unsettled.Load() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open.Load() || b.well.IsZero() {
		b.well = time.Now()
	}
	b.failures, b.cause, b.explained, b.probing = 0, nil, false, false
	b.unsettled.Store(false)
	b.open.Store(false)
}

func (b *Breaker) failed(p Permit, now time.Duration, cause error) (decisive bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if cause != nil && (b.cause == nil || !b.explained && saysLittle(b.cause) && !saysLittle(cause)) {
		b.cause = cause
	}
	if b.open.Load() {
		// A call that began before the breaker opened says nothing new.
		if !b.isProbing(p) {
			return false
		}
		b.pause = min(2*b.pause, b.longest)
		b.next = now + b.pause
		b.probing = false
		return true
	}
	if b.failures == 0 {
		b.first, b.since = now, time.Now()
	}
	b.failures++
	b.unsettled.Store(true)
	if b.stays || b.failures < failuresToOpen || now-b.first < timeoutsToOpen*b.timeout {
		return false
	}
	b.pause = b.shortest
	b.next = now + b.pause
	b.open.Store(true)
	return true
}

// saysLittle reports whether the error only says that a time-out was over. One of dialling says more: that the server
// was not reached.
func saysLittle(err error) bool {
	var network *net.OpError
	if errors.As(err, &network) && network.Op == "dial" {
		return false
	}
	var timeout net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
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
