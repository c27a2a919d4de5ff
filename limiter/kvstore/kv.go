package kvstore

import (
	"context"
	"errors"
	"time"
)

// ErrValue is for a [KV] to wrap where it works but what it holds under a key is no count, such as another program's
// value. The batch cannot be decided, and the KV is not taken to be down for anybody else.
var ErrValue = errors.New("the value is no count")

// KV is all that a key-value store must offer. Its methods are called by many goroutines at once.
//
// Keys are at most 200 bytes of printable ASCII without spaces. A method must not keep the slice of keys. It should
// give up when ctx ends; a Store leaves one that does not behind, and tolerates a bounded number of those.
type KV interface {
	// Get returns the counts under the keys, in their order, 0 where there is none. It may already see an Add
	// that began after it did. A key that could not be read is an error, not a 0; see [ErrValue].
	Get(ctx context.Context, keys ...string) ([]int64, error)

	// Add adds delta to the count under key in one atomic step and returns the sum.
	//
	//   - The sum is never below 0: what would be, is 0.
	//   - An absent key counts as 0. It is created, and vanishes after ttl, not before; the whole seconds of a
	//     store are rounded up. A negative delta creates nothing and returns 0.
	//   - Adding to a key that is there leaves its time to live alone or prolongs it.
	//   - delta is at least -[math.MaxInt64], which is how a count is forgotten; a value that is none may go with it.
	//   - An Add whose outcome is unknown, because the connection broke, is an error. It is not tried again.
	Add(ctx context.Context, key string, delta int64, ttl time.Duration) (int64, error)
}
