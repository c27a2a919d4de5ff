package window

import (
	"time"

	"github.com/httplimit/httplimit/limiter/internal/arith"
)

// Strict is what a counter of a StrictWindow holds at one moment.
type Strict struct {
	Counts *[arith.StrictParts + 1]int64 // units, those of the present part first and then those of the parts before it
	Number int64                         // of the present part, counted from the epoch
	Length int64                         // of a part, in milliseconds
	Before int64                         // how many parts count before the present one
	Now    int64                         // Unix milliseconds
}

// RetryAfter returns the time until so many units have left that lacking more fit, which is at least 1 and at most what
// will be counted.
func (s *Strict) RetryAfter(lacking int64) time.Duration {
	ago := len(s.Counts) - 1
	for ; ago > 0; ago-- {
		if lacking -= s.Counts[ago]; lacking <= 0 {
			break
		}
	}
	return s.leaves(ago)
}

// ResetAfter returns the time until all units have left.
func (s *Strict) ResetAfter() time.Duration {
	for ago, n := range s.Counts {
		if n > 0 {
			return s.leaves(ago)
		}
	}
	return 0
}

// FullResetAfter returns the time until the units of the present part have left.
func (s *Strict) FullResetAfter() time.Duration { return s.leaves(0) }

// leaves returns the time until the part that is so many before the present one no longer counts.
func (s *Strict) leaves(ago int) time.Duration {
	return millis((s.Number-int64(ago)+s.Before+1)*s.Length - s.Now)
}
