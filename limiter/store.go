package limiter

import (
	"context"
	"errors"
	"math"
	"time"
)

// Never is the RetryAfter of a charge that can never pass because its Cost is above the limit's capacity.
const Never = time.Duration(math.MaxInt64)

// MaxCount is where counts saturate, far above any limit: Force can push a counter no further.
const MaxCount = 1<<30 - 1

// ErrUnsupported is returned, wrapped, by stores that do not run the algorithm asked for.
var ErrUnsupported = errors.New("limiter: this store does not run this algorithm")

// Decision is the answer to one charge.
type Decision struct {
	// Allowed tells whether the charge fitted.
	Allowed bool
	// Remaining is what the same key could spend right now. Never negative.
	Remaining int64
	// RetryAfter is 0 when Allowed, else the time after which this charge would first pass if nobody else
	// spent anything: exact, in whole milliseconds. It is [Never] if Cost is above the limit's capacity.
	RetryAfter time.Duration
	// ResetAfter is the time until the whole quota is free again if nobody spends anything.
	ResetAfter time.Duration
}

// State is what a decision was made from: the counter as it stood before the charge. Hand a charge back with the
// State that Take filled in, and a negative Cost, to give its units back to the window that was charged.
type State struct {
	// At is the moment of the decision on the store's clock, in Unix milliseconds.
	At int64
	// Current and Previous are the units in the current and in the previous window (FixedWindow: Previous is
	// 0). For SlidingLog and TokenBucket Current is the units in use, rounded up, and Previous is 0.
	Current, Previous int64
}

// Mode says what a charge may do to its batch and to its counter. The zero value is [Enforce].
type Mode uint8

const (
	// Enforce refuses the whole batch if the charge does not fit.
	Enforce Mode = iota
	// Shadow refuses nothing and is spent with the batch where it fits.
	Shadow
	// Peek is decided as Enforce would be, refuses nothing and is never spent.
	Peek
	// Force always fits, also beyond the limit, and is spent with the batch: a cost known only afterwards.
	// Counts saturate at [MaxCount]; later charges wait until it has been paid off.
	Force
)

// Charge is one counter asked for one amount. The caller fills in the upper fields, Take the State, the
// Decision and Cached.
//
// A counter is (Scope, Key, Limit.Algorithm, Limit.Window). Requests and Burst are no part of it.
type Charge struct {
	// Scope is what is limited. Counts of two scopes never mix. Any bytes.
	Scope string
	// Key is who is limited. Any bytes.
	Key string
	// Limit must be valid.
	Limit Limit
	// Cost is how many units are asked for. 0 decides and spends nothing; below 0 it gives units back, to the
	// window of State.At if that is set.
	Cost int64
	Mode Mode
	State
	Decision
	// Cached tells that the batch was refused by what the store remembered of earlier refusals, without asking
	// its server.
	Cached bool
}

// SameCounter reports whether two charges ask the same counter, see [Charge].
func (c *Charge) SameCounter(other *Charge) bool {
	return c.Key == other.Key && c.Scope == other.Scope && c.Limit.SameWindow(&other.Limit)
}

// Store counts. Implementations are safe for concurrent use, and keep neither the charges nor their strings after
// a call has returned.
type Store interface {
	// Take judges the charges in order, each on top of those before it, and spends the batch or nothing.
	// taken tells which: it is true if and only if every Enforce charge fitted.
	//
	// A refusal is not an error. An error means that the store could not decide: nothing is known to be spent
	// and the Decisions mean nothing. A context that has already ended spends nothing and returns its error.
	//
	// After a batch was spent, Remaining and ResetAfter tell how each charge left its counter. After a refusal
	// they tell the counters as they stand, with nothing of the batch spent.
	Take(ctx context.Context, charges []Charge) (taken bool, err error)
	// Reset forgets what the counters of the charges hold; Cost and Mode do not matter.
	Reset(ctx context.Context, charges []Charge) error
}

// Checker is implemented by stores that refuse some limits, so that a program learns it when it starts and not
// with its first request. A store that wraps another one forwards it.
type Checker interface {
	// Check returns nil if the store can run the limit, else an error that says why not; it wraps
	// [ErrUnsupported] if the algorithm is the reason.
	Check(Limit) error
}

// checkLimit validates l and asks the store about it.
func checkLimit(store Store, l Limit) error {
	if err := l.Validate(); err != nil {
		return err
	}
	if c, ok := store.(Checker); ok {
		return c.Check(l)
	}
	return nil
}
