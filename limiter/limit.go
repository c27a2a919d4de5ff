package limiter

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Algorithm says how units are counted over time. The zero value is [SlidingWindow].
type Algorithm uint8

const (
	// SlidingWindow adds the count of the current window and a share of the count of the previous one: the share
	// of it that a window ending now still covers, rounded down. It keeps two numbers a key, whatever the limit.
	// It is an estimate: around a window boundary, a client that tries all the time gets up to twice the limit
	// within the length of one window. Where that is too much, take StrictWindow.
	SlidingWindow Algorithm = iota
	// SlidingLog remembers for one window when each admitted unit was taken. It is exact: never more than the
	// limit within the length of one window. Its memory grows with the limit.
	SlidingLog
	// FixedWindow counts each window on its own. It is the easiest to explain, and lets up to twice the limit
	// through around a window boundary.
	FixedWindow
	// TokenBucket refills Requests tokens per Window, evenly, up to Burst. GCRA is another name for it.
	TokenBucket
	// StrictWindow never lets more than the limit through within the length of one window, as a SlidingLog, in memory
	// that does not depend on the limit. It counts in ten parts of the window, and a unit stays counted until its whole
	// part is a window old, up to a tenth of a window longer than it should: a client that always asks gets ten
	// elevenths of the limit, and one that comes with its whole quota once per window gets it every second time.
	StrictWindow
)

var algorithmNames = [...]string{
	SlidingWindow: "sliding-window",
	SlidingLog:    "sliding-log",
	FixedWindow:   "fixed-window",
	TokenBucket:   "token-bucket",
	StrictWindow:  "strict-window",
}

// String returns the name that [ParseLimit] reads, such as "token-bucket".
func (a Algorithm) String() string {
	if int(a) < len(algorithmNames) {
		return algorithmNames[a]
	}
	return fmt.Sprintf("Algorithm(%d)", uint8(a))
}

// MarshalText implements [encoding.TextMarshaler]: it is String, or an error if there is no such algorithm.
func (a Algorithm) MarshalText() ([]byte, error) {
	if int(a) >= len(algorithmNames) {
		return nil, fmt.Errorf("limiter: there is no %v", a)
	}
	return []byte(a.String()), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler]. It takes the names that String returns.
func (a *Algorithm) UnmarshalText(text []byte) error {
	i := slices.Index(algorithmNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("limiter: %.32q is no algorithm, want one of %q", text, algorithmNames)
	}
	*a = Algorithm(i)
	return nil
}

const (
	maxRequests    = 1_000_000_000
	maxLogRequests = 100_000 // a log keeps up to one timestamp a unit
	maxWindow      = 366 * 24 * time.Hour
	// maxBucket bounds capacity x Window in milliseconds, the unit in which a bucket's debt is kept. Below 2^53
	// every intermediate value is exact in a float64, the only type of number that Lua in Redis has.
	maxBucket = 1 << 52
)

// Limit is how many units a key may spend in how much time. It is a plain value: compare it with ==, store it as
// text (see [ParseLimit]), make it with [PerMinute] and the like or as a struct.
//
// Algorithm and Window are part of a counter's identity, Requests and Burst are not: when those change, what was
// spent stays spent.
//
// A limit of 0 is valid and admits nothing: it is for a tenant who is suspended, or for addresses that are banned. It
// refuses every charge but refunds and [Force], also one of Cost 0, with RetryAfter [Never], and no counter is asked.
// What the key has spent under another limit stays spent: it counts again if the other limit comes back.
type Limit struct {
	// Requests is how many units may be spent per Window: 0 to 1,000,000,000 (SlidingLog: to 100,000). 0 admits
	// nothing; Burst is 0 then too.
	Requests int64
	// Window is whole milliseconds, from one millisecond to 366 days.
	Window time.Duration
	// Algorithm is SlidingWindow unless set.
	Algorithm Algorithm
	// Burst is the size of a TokenBucket: 0 means Requests, else 1 to 1,000,000,000. It must be 0 for the
	// other algorithms and for a limit of 0. The larger of Requests and Burst, times Window in milliseconds, is at
	// most 2^52.
	Burst int64
}

// Per returns a SlidingWindow limit of n units per window.
func Per(n int64, window time.Duration) Limit { return Limit{Requests: n, Window: window} }

// PerSecond returns a SlidingWindow limit of n units per second.
func PerSecond(n int64) Limit { return Per(n, time.Second) }

// PerMinute returns a SlidingWindow limit of n units per minute.
func PerMinute(n int64) Limit { return Per(n, time.Minute) }

// PerHour returns a SlidingWindow limit of n units per hour.
func PerHour(n int64) Limit { return Per(n, time.Hour) }

// PerDay returns a SlidingWindow limit of n units per 24 hours, counted in UTC.
func PerDay(n int64) Limit { return Per(n, 24*time.Hour) }

// Capacity returns how many units can be spent at once: Burst where it is set, else Requests.
func (l Limit) Capacity() int64 {
	if l.Burst != 0 {
		return l.Burst
	}
	return l.Requests
}

// SameWindow reports whether l and other have the same Algorithm and Window. For one scope and key that is the same
// counter.
func (l *Limit) SameWindow(other *Limit) bool {
	return l.Window == other.Window && l.Algorithm == other.Algorithm
}

// Validate reports every field that is out of its range, joined into one error. A valid Limit returns nil.
func (l Limit) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf("limiter: "+format, args...)) }

	if int(l.Algorithm) >= len(algorithmNames) {
		fault("Algorithm is %d, want SlidingWindow, SlidingLog, FixedWindow, TokenBucket or StrictWindow", uint8(l.Algorithm))
	}
	most := int64(maxRequests)
	if l.Algorithm == SlidingLog {
		most = maxLogRequests
	}
	if l.Requests < 0 || l.Requests > most {
		fault("Requests is %d, want 0 to %d for %v", l.Requests, most, l.Algorithm)
	}
	inRange := l.Window >= time.Millisecond && l.Window <= maxWindow
	whole := l.Window%time.Millisecond == 0
	switch {
	case !inRange:
		fault("Window is %v, want 1ms to 366 days (%v)", l.Window, maxWindow)
	case !whole:
		fault("Window is %v, want whole milliseconds", l.Window)
	}
	if l.Algorithm == TokenBucket {
		l.validateBurst(fault, inRange && whole)
	} else if l.Burst != 0 {
		fault("Burst is %d, want 0 for %v: only TokenBucket has a burst", l.Burst, l.Algorithm)
	}
	return errors.Join(faults...)
}

// validateBurst checks what only a TokenBucket has: a Burst, and a bound on the product of capacity and Window.
func (l Limit) validateBurst(fault func(format string, args ...any), windowOK bool) {
	if l.Requests == 0 && l.Burst > 0 {
		fault("Burst is %d, want 0 where Requests is 0: such a limit admits nothing", l.Burst)
	}
	if l.Burst < 0 || l.Burst > maxRequests {
		fault("Burst is %d, want 0 (the same as Requests) or 1 to %d", l.Burst, int64(maxRequests))
	}
	largest := max(l.Requests, l.Burst)
	if windowOK && largest <= maxRequests && largest > maxBucket/l.Window.Milliseconds() {
		fault("max(Requests, Burst) x Window in milliseconds is above 2^52 (%d x %d): "+
			"use a shorter Window with fewer Requests", largest, l.Window.Milliseconds())
	}
}
