package memstore

import (
	"math"
	"time"
)

// StopClock stops the clock of a store that nobody uses yet and returns a function that moves it on. What is asked
// to go back stays where it is, as a monotonic clock does.
func StopClock(s *Store) (advance func(time.Duration)) {
	now := s.clock.wall.Load() + int64(time.Since(s.clock.started))
	// The time since the zero Time does not fit a Duration and is the longest one, always.
	s.clock.started = time.Time{}
	s.clock.wall.Store(now - math.MaxInt64)
	return func(d time.Duration) { s.clock.wall.Add(int64(max(0, d))) }
}

// StripeOf returns the number of the stripe that a key belongs to.
func StripeOf(s *Store, scope, key string) int { return s.stripeOf(s.hash(scope, key)).index }
