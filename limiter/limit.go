package limiter

import (
	"errors"
	"fmt"
	"time"
)

// Algorithm says how units are counted over time. The zero value is [SlidingWindow].
type Algorithm uint8

const (
	// SlidingWindow weighs the count of the previous window by how much of it a window that ends now still
	// covers, rounded down, and adds the count of the current one. Two numbers a key, whatever the limit. It is
	// an estimate: over a stretch of one window a client that tries all the time gets up to twice the limit,
	// where a turn of the window lies in it. With small limits that is a large share; take SlidingLog there.
	SlidingWindow Algorithm = iota
	// SlidingLog remembers when every admitted unit was taken, for one window. Exact: never more than the
	// limit over any stretch of one window. Costs memory in proportion to the limit.
	SlidingLog
	// FixedWindow counts per aligned window and starts anew at each turn. Cheapest to explain; lets twice the
	// limit through around a turn.
	FixedWindow
	// TokenBucket refills Requests tokens per Window, evenly, up to Burst. The same as GCRA.
	TokenBucket
)

var algorithmNames = [...]string{
	SlidingWindow: "sliding-window",
	SlidingLog:    "sliding-log",
	FixedWindow:   "fixed-window",
	TokenBucket:   "token-bucket",
}

// String returns the name that [ParseLimit] reads, such as "token-bucket".
func (a Algorithm) String() string {
	if int(a) < len(algorithmNames) {
		return algorithmNames[a]
	}
	return fmt.Sprintf("Algorithm(%d)", uint8(a))
}

const (
	maxRequests    = 1_000_000_000
	maxLogRequests = 100_000 // a log holds up to one entry a unit
	maxWindow      = 366 * 24 * time.Hour
	// maxBucket bounds capacity x Window in milliseconds, the unit in which a bucket's debt is kept. Below
	// 2^53 every value on the way is exact in a float64, which is all that Lua in Redis has.
	maxBucket = 1 << 52
)

// Limit is how many units a key may spend in how much time. It is a plain value: compare it with ==, store it as
// text (see [ParseLimit]), make it with [PerMinute] and its like or as a struct.
//
// A Limit is not part of a stored counter's identity but for its Algorithm and Window: when Requests or Burst
// change, what was spent stays spent.
type Limit struct {
	// Requests is how many units may be spent per Window: 1 to 1,000,000,000 (SlidingLog: to 100,000).
	Requests int64
	// Window is whole milliseconds, from one millisecond to 366 days.
	Window time.Duration
	// Algorithm is SlidingWindow unless set.
	Algorithm Algorithm
	// Burst is the size of a TokenBucket: 0 means Requests, else 1 to 1,000,000,000. It must be 0 for the
	// other algorithms. The larger of Requests and Burst, times Window in milliseconds, is at most 2^52.
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

// Capacity is the most that can be spent at once: Burst of a TokenBucket that has one, else Requests.
func (l Limit) Capacity() int64 {
	if l.Burst != 0 {
		return l.Burst
	}
	return l.Requests
}

// WindowMillis is the Window in milliseconds, the unit of all arithmetic in this package.
func (l Limit) WindowMillis() int64 { return int64(l.Window / time.Millisecond) }

// SameWindow reports whether l and other are counted by the same Algorithm over the same Window: for one scope and key
// that is the same counter.
func (l *Limit) SameWindow(other *Limit) bool {
	return l.Window == other.Window && l.Algorithm == other.Algorithm
}

// Validate reports every field that is out of its range, joined into one error. A valid Limit returns nil.
func (l Limit) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf("limiter: "+format, args...)) }

	if int(l.Algorithm) >= len(algorithmNames) {
		fault("Algorithm is %d, want SlidingWindow, SlidingLog, FixedWindow or TokenBucket", uint8(l.Algorithm))
	}
	most := int64(maxRequests)
	if l.Algorithm == SlidingLog {
		most = maxLogRequests
	}
	if l.Requests < 1 || l.Requests > most {
		fault("Requests is %d, want 1 to %d for %v", l.Requests, most, l.Algorithm)
	}
	windowOK := false
	switch {
	case l.Window < time.Millisecond || l.Window > maxWindow:
		fault("Window is %v, want 1ms to 366 days (%v)", l.Window, maxWindow)
	case l.Window%time.Millisecond != 0:
		fault("Window is %v, want whole milliseconds", l.Window)
	default:
		windowOK = true
	}
	if l.Algorithm != TokenBucket {
		if l.Burst != 0 {
			fault("Burst is %d, want 0 for %v: only TokenBucket has a burst", l.Burst, l.Algorithm)
		}
		return errors.Join(faults...)
	}
	if l.Burst < 0 || l.Burst > maxRequests {
		fault("Burst is %d, want 0 (the same as Requests) or 1 to %d", l.Burst, int64(maxRequests))
	}
	if largest := max(l.Requests, l.Burst); windowOK && largest <= maxRequests && largest > maxBucket/l.WindowMillis() {
		fault("max(Requests, Burst) x Window in milliseconds is above 2^52 (%d x %d): use a shorter Window with fewer Requests",
			largest, l.WindowMillis())
	}
	return errors.Join(faults...)
}
