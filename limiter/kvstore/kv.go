package kvstore

import (
	"context"
	"errors"
	"time"
)

// ErrValue is for a [KV] to wrap when it works, but a value is no count: another program's value, for example. The
// batch cannot be decided, and the KV is not taken to be down.
var ErrValue = errors.New("the value is no count")

// KV is all that a key-value store must offer. Its methods are called by many goroutines at once. Keys name clients: a
// KV should not log them.
//
// Keys are at most 200 bytes of printable ASCII without spaces. A method must not keep the slice of keys. It should
// return when ctx ends; a [Store] does not wait for one that does not, and tolerates a bounded number of those.
type KV interface {
	// Get returns the counts under the keys, in their order, 0 where there is none. It may already see an Add
	// that began after it did. A key that could not be read is an error, not a 0; see [ErrValue].
	Get(ctx context.Context, keys ...string) ([]int64, error)

	// Add adds delta to the count under key in one atomic step and returns the sum.
	//
	//   - The sum is never below 0: a negative one becomes 0.
	//   - An absent key counts as 0. Add creates it, and it expires after ttl, not before; a store that counts in
	//     seconds rounds up. A negative delta creates nothing and returns 0.
	//   - Adding to an existing key leaves its time to live alone or extends it.
	//   - delta is at least -[math.MaxInt64]; this one resets the count, and may remove a value that is no count.
	//   - An Add whose outcome is unknown, because the connection broke, is an error. It is not repeated.
	Add(ctx context.Context, key string, delta int64, ttl time.Duration) (int64, error)
}

// Reconnector is a [KV] that keeps connections idle and can drop them. Implement it where the client does not notice
// that a connection went silent, as behind a firewall that has forgotten it: without it a [Store] uses up such
// connections one by one, with a pause after each.
type Reconnector interface {
	KV

	// Reconnect drops the connections that are idle at this moment, so that the calls that follow make new ones. Those
	// in use are left alone. It must return soon: it waits for no server.
	//
	// A Store calls it in a goroutine of its own, when calls time out and that opens the breaker, or when a probe of
	// the open breaker times out. The next probe follows at once, on a new connection. If that fails too, it was not the
	// connections: there is a pause, and another probe on what there is then, before the next Reconnect. So a
	// server that is slow, or away, is not flooded with connections, and one to which a connection takes longer
	// than Config.Timeout is reached by those that were made meanwhile.
	Reconnect()
}
