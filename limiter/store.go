package limiter

import (
	"context"
	"errors"
	"math"
	"time"
)

// Never is the RetryAfter of a charge that can never pass because its Cost is above the limit's capacity, or because
// the limit is 0.
const Never = time.Duration(math.MaxInt64)

// MaxCount is the largest count of a counter. Larger ones become MaxCount; it is above every valid limit.
const MaxCount = 1<<30 - 1

// ErrUnsupported is returned, wrapped, by stores that do not run the algorithm asked for.
var ErrUnsupported = errors.New("limiter: this store does not run this algorithm")

// Decision is the answer to one charge.
type Decision struct {
	// Allowed is true if the charge fitted.
	Allowed bool
	// Remaining is how many units the same key could spend right now. It is never negative.
	Remaining int64
	// RetryAfter is 0 when Allowed, else the shortest time after which this charge would fit if nothing else
	// were spent meanwhile: exact, in whole milliseconds. It is [Never] if Cost is above the limit's capacity, and for
	// every Cost if the limit is 0.
	RetryAfter time.Duration
	// ResetAfter is the time until the whole quota is free again if nothing is spent meanwhile.
	ResetAfter time.Duration
}

// State is what a decision was made from: the counter as it stood before the charge. To refund a charge, pass it to
// Take again with a negative Cost and the State that Take has filled in. The refund goes to the window that was
// charged, of a StrictWindow to the part of it.
type State struct {
	// At is the moment of the decision on the store's clock, in Unix milliseconds.
	At int64
	// Current and Previous are the units in the current and in the previous window (FixedWindow: Previous is
	// 0). For the other algorithms Current is the units in use, rounded up, and Previous is 0.
	Current, Previous int64
}

// Mode says what a charge may do to its batch and to its counter. The zero value is [Enforce].
type Mode uint8

const (
	// Enforce refuses the whole batch if the charge does not fit.
	Enforce Mode = iota
	// Shadow refuses nothing. It is spent with the batch if it fits.
	Shadow
	// Peek is decided as Enforce would be, refuses nothing, and is never spent.
	Peek
	// Force always fits, also beyond the limit, and is spent with the batch. It is for a cost that is known only
	// afterwards. Counts saturate at [MaxCount], those of a TokenBucket at what algorithm.MostUnits says; later charges
	// are refused until there are units again.
	Force
)

// Charge asks one counter for some units. The caller fills in Scope to Mode; Take fills in State, Decision and Cached.
//
// A counter is (Scope, Key, Limit.Algorithm, Limit.Window). Requests and Burst are not part of it.
type Charge struct {
	// Scope is what is limited, in any bytes. Counts of two scopes never mix.
	Scope string
	// Key is who is limited, in any bytes.
	Key string
	// Limit must be valid.
	Limit Limit
	// Cost is how many units are asked for. 0 decides and spends nothing. Below 0 it is a refund: to the window of
	// State.At if that is set, else to the current window and then to the previous one. For a StrictWindow it is the part
	// of State.At, else the newest part first.
	Cost int64
	Mode Mode
	// Brief says that the units are to come back as soon as something has ended, such as a request that is under way:
	// another process may free the counter at any moment, so a store must not remember that the charge was refused.
	Brief bool
	State
	Decision
	// Cached is true if the store has refused the batch from memory: by what it remembers of earlier refusals, without
	// asking its server, or because of an Enforce charge on a limit of 0. Charges of the batch that it has not judged
	// have Allowed true, and the rest of their Decision and their State are 0.
	Cached bool
	// Local is true if a second store in this process has decided in place of the first one, by its share of the limit:
	// the store that storekit.WithFallback returns fills it in, and others leave it as it is. In a refund it says which
	// of the two was charged.
	Local bool
	// Shared is true if the counter was judged by a count that it shares with other keys, which may be too high: a
	// memstore that is full sets it, and nobody clears it but a caller that uses the charge again. A refusal is then no
	// proof of what the key did.
	Shared bool
}

// SameCounter reports whether c and other ask the same counter.
func (c *Charge) SameCounter(other *Charge) bool {
	return c.Key == other.Key && c.Scope == other.Scope && c.Limit.SameWindow(&other.Limit)
}

// Store counts. Implementations are safe for concurrent use, and keep neither the charges nor their strings after
// a call has returned.
//
// A Store keeps the time, its callers do not. An HTTP middleware asks with a context that does not end with the
// request, so that what was decided is carried out, and waits for as long as the call takes. The stores of this project
// return within the Timeout of their Config, whatever their server does. A store of your own has to return in bounded
// time as well, or is wrapped by [storekit.WithTimeout].
//
// A Store should not panic. The middleware takes a panic for an error, as if the store could not decide, and so does
// storekit.WithTimeout; a [Limiter] lets it pass.
//
// [storekit.WithTimeout]: https://pkg.go.dev/github.com/httplimit/httplimit/limiter/storekit#WithTimeout
type Store interface {
	// Take judges the charges in order, each on top of those before it, and spends the whole batch or nothing.
	// taken is true if the batch was spent: if and only if every Enforce charge fitted.
	//
	// A refusal is not an error. An error means that the store could not decide: nothing is known to be spent,
	// and the Decisions mean nothing. If ctx has already ended, nothing is spent and its error is returned.
	//
	// A limit of 0 refuses its charges before anything else is looked at: State, Remaining and ResetAfter are 0, and
	// RetryAfter is Never. An Enforce charge on it refuses the batch without asking any counter, refunds in it included,
	// and the batch is Cached; Shadow and Peek charges on it change nothing for the others. [algorithm.TakeZero] is the
	// whole of it. Refunds (Cost below 0) and Force charges reach the counter whatever the limit.
	//
	// After a batch was spent, Remaining and ResetAfter of each charge describe its counter right after that charge.
	// After a refusal they describe the counters as they are, with nothing of the batch spent.
	//
	// [algorithm.TakeZero]: https://pkg.go.dev/github.com/httplimit/httplimit/limiter/algorithm#TakeZero
	Take(ctx context.Context, charges []Charge) (taken bool, err error)
	// Reset clears the counters of the charges. Cost and Mode do not matter.
	Reset(ctx context.Context, charges []Charge) error
}

// Checker is implemented by stores that cannot run every limit, so that a program finds out when it starts and not
// with its first request. It asks no server: limits that change from request to request are checked with each. A store
// that wraps another one forwards Check to it.
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
