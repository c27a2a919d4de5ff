// Package window is the arithmetic of SlidingWindow and FixedWindow. Package algorithm judges batches with it; memstore
// decides single charges with it directly.
package window

import (
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/internal/arith"
)

// Counts is what a counter of one of the two windows holds at one moment.
type Counts struct {
	Current, Previous int64 // units; Previous is 0 for a FixedWindow
	Left              int64 // milliseconds until the next window begins
	Length            int64 // of a window, in milliseconds
}

// Decide returns the decision on a charge that is a batch of its own, has a cost above 0 and may be refused, as
// [algorithm.Usage.Judge] fills it in. w is what the counter held before it, and remaining what [Counts.Remaining] says
// of that. It adds the cost to w if and only if the charge fits.
//
// [algorithm.Usage.Judge]: https://pkg.go.dev/github.com/httplimit/httplimit/limiter/algorithm#Usage.Judge
func (w *Counts) Decide(l *limiter.Limit, cost, remaining int64) (d limiter.Decision) {
	if d.Allowed = cost <= remaining; d.Allowed {
		w.Current += cost
		remaining -= cost
	} else {
		d.RetryAfter = w.RetryAfter(l, cost)
	}
	d.Remaining = max(0, remaining)
	d.ResetAfter = w.ResetAfter(l)
	return d
}

// Remaining returns how many units fit under a limit of that many requests. It is negative above the limit.
func (w *Counts) Remaining(requests int64) int64 {
	return requests - w.Current - w.weighted()
}

// weighted returns the previous window's count times the share of it that a window ending now still covers, rounded
// down: with the count before the request compared against the limit, as the originals of this algorithm do,
// p x (W-e) + (c+n) x W <= L x W + (W-1) is the same as floor(p x (W-e) / W) + c + n <= L.
func (w *Counts) weighted() int64 {
	if w.Previous == 0 {
		return 0
	}
	return arith.MulDiv(w.Previous, w.Left, w.Length)
}

// RetryAfter returns how long a cost has to wait that does not fit.
func (w *Counts) RetryAfter(l *limiter.Limit, cost int64) time.Duration {
	if cost > l.Requests {
		return limiter.Never
	}
	if l.Algorithm == limiter.FixedWindow {
		return millis(w.Left)
	}
	// The condition of weighted, solved for the first moment at which it holds without other traffic.
	if free := l.Requests - w.Current - cost; free >= 0 {
		// In this window, while the weight of the previous one falls: p x (W-e') <= free x W + W-1.
		return millis(w.Left - arith.MulAddDiv(free, w.Length, w.Length-1, w.Previous))
	}
	// After the window boundary, while the weight of the current one falls: c x (W-e') <= (L-n) x W + W-1.
	return millis(w.Left + w.Length - arith.MulAddDiv(l.Requests-cost, w.Length, w.Length-1, w.Current))
}

// ResetAfter returns the time until both windows are over or, for a SlidingWindow, the weight of both rounds to 0.
func (w *Counts) ResetAfter(l *limiter.Limit) time.Duration {
	sliding := l.Algorithm == limiter.SlidingWindow
	switch {
	case w.Current > 0 && sliding:
		return millis(w.Left + w.Length - (w.Length-1)/w.Current)
	case w.Current > 0:
		return millis(w.Left)
	case w.Previous > 0:
		return millis(max(0, w.Left-(w.Length-1)/w.Previous))
	}
	return 0
}

// millis returns ms milliseconds as a Duration. At most two windows of the longest length fit.
func millis(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
