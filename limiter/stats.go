package limiter

import (
	"context"
	"encoding/json"
	"time"

	"github.com/httplimit/httplimit/limiter/internal/arith"
)

// Stats describes one counter at one moment, for operators. The names and units of its JSON are stable, and those of
// httplimit.Verdict are the same: times are RFC 3339 in UTC, durations are whole milliseconds, rounded up, and null for
// [Never].
type Stats struct {
	Limit Limit     `json:"limit"`
	At    time.Time `json:"at"` // the moment, on the store's clock, UTC

	// WindowStart and WindowEnd are the boundaries of the current window. For SlidingLog and TokenBucket it is the
	// one that ends now, for a StrictWindow the parts that are counted now, from the start of the first to the end
	// of the present one.
	WindowStart time.Time `json:"windowStart"`
	WindowEnd   time.Time `json:"windowEnd"`

	// Current and Previous are the units counted, as in [State].
	Current  int64 `json:"current"`
	Previous int64 `json:"previous"`
	// PreviousWeight is the share of Previous that still counts: it falls from 1 at the start of a window to 0 at
	// its end. It is 0 for the algorithms that have no previous window.
	PreviousWeight float64 `json:"previousWeight"`
	// Estimate is what is compared with the limit: Current plus Previous x PreviousWeight, rounded down.
	Estimate int64 `json:"estimate"`

	// Allowed is true if one more unit would fit now. RetryAfter is [Never] if the limit can never allow a unit: a
	// limit of 0, whatever its counter holds.
	Allowed    bool          `json:"allowed"`
	Remaining  int64         `json:"remaining"`
	RetryAfter time.Duration `json:"retryAfter"`
	ResetAfter time.Duration `json:"resetAfter"`
}

// statsJSON is Stats with the units of JSON in place of those of Go.
type statsJSON struct {
	plainStats
	RetryAfter Milliseconds `json:"retryAfter"`
	ResetAfter Milliseconds `json:"resetAfter"`
}

type plainStats Stats

// MarshalJSON implements [json.Marshaler].
func (s Stats) MarshalJSON() ([]byte, error) {
	return json.Marshal(statsJSON{plainStats(s), Milliseconds(s.RetryAfter), Milliseconds(s.ResetAfter)})
}

// UnmarshalJSON implements [json.Unmarshaler].
func (s *Stats) UnmarshalJSON(text []byte) error {
	read := statsJSON{plainStats(*s), Milliseconds(s.RetryAfter), Milliseconds(s.ResetAfter)}
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	*s = Stats(read.plainStats)
	s.RetryAfter, s.ResetAfter = time.Duration(read.RetryAfter), time.Duration(read.ResetAfter)
	return nil
}

// Stats returns what the counters of key hold, one for each limit in the order given to [New]. It spends nothing.
func (l *Limiter) Stats(ctx context.Context, key string) ([]Stats, error) {
	charges := l.fromPool(key, 1, Peek)
	defer l.release(charges)
	for i := range *charges {
		if c := &(*charges)[i]; c.Limit.Requests == 0 {
			c.Mode, c.Cost = Force, 0 // refused without a look at the counter in every other mode; spends nothing
		}
	}
	if _, err := l.store.Take(ctx, *charges); err != nil {
		return nil, err
	}
	stats := make([]Stats, len(*charges))
	for i := range *charges {
		c := &(*charges)[i]
		if c.Limit.Requests == 0 {
			c.Decision = Decision{RetryAfter: Never}
		}
		stats[i] = newStats(c)
	}
	return stats, nil
}

func newStats(c *Charge) Stats {
	window := c.Limit.Window.Milliseconds()
	start, end := c.At-window, c.At
	weight, estimate := 0.0, c.Current
	switch c.Limit.Algorithm {
	case SlidingWindow, FixedWindow:
		start = c.At - c.At%window
		end = start + window
		if c.Limit.Algorithm == SlidingWindow {
			weight = float64(end-c.At) / float64(window)
			estimate += arith.MulDiv(c.Previous, end-c.At, window)
		}
	case StrictWindow:
		length, before := arith.Parts(window)
		end = c.At - c.At%length + length
		start = end - (before+1)*length
	}
	return Stats{
		Limit:          c.Limit,
		At:             time.UnixMilli(c.At).UTC(),
		WindowStart:    time.UnixMilli(start).UTC(),
		WindowEnd:      time.UnixMilli(end).UTC(),
		Current:        c.Current,
		Previous:       c.Previous,
		PreviousWeight: weight,
		Estimate:       estimate,
		Allowed:        c.Allowed,
		Remaining:      c.Remaining,
		RetryAfter:     c.RetryAfter,
		ResetAfter:     c.ResetAfter,
	}
}
