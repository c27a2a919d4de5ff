// Package limitertest tests implementations of [limiter.Store]: the same cases, vectors, races and random streams
// for every store, so that a program may change its store without a change in what its limits mean.
//
// [Run] is all that a store's test has to call.
//
// # What a store has to do
//
// The contract is the comment of [limiter.Store] and of the types that it names. In short:
//
//  1. A counter is (Scope, Key, Algorithm, Window), whatever bytes those strings hold. Requests and Burst are no
//     part of it: when they change, what was spent stays spent.
//  2. Take judges the charges in order, each on top of those before it, and spends the batch or nothing. A charge
//     that does not fit is left out of what later ones are judged on.
//  3. A refusal spends nothing, ever, and is not an error. After it Remaining and ResetAfter, and State, tell each
//     counter as it stands.
//  4. Every store decides in whole milliseconds since the Unix epoch, State.At, with windows aligned to it. All
//     charges on one counter in one batch are decided at one moment.
//  5. RetryAfter is exact both ways, ResetAfter too: at that millisecond it is so, one before it is not. The units
//     that earlier charges of the batch take from the same counter are part of what has to fit.
//  6. Counts never fall below zero and saturate at [limiter.MaxCount].
//  7. A refund goes to the window of State.At, to the previous one if that is where it lies now, else nowhere;
//     without State.At to the current and then to the previous window. A SlidingLog gives back its newest units.
//  8. A step of the clock, of any size, locks no key out for longer than two windows (TokenBucket: than its
//     refill) and frees no key that is over its limit. RetryAfter is exact after it.
//  9. An algorithm that a store does not run is an error that wraps [limiter.ErrUnsupported], and nothing of the
//     batch is spent.
//  10. Take is safe for concurrent use: with n callers on one key exactly the limit is let in. After it has
//     returned, also early because its context ended, the store touches neither the charges nor their strings.
//
// A store may answer from memory that a charge it has refused is still refused, as DenyCache of package storekit
// does: with the State and the Decision of then, its waits less by the time since. In such a batch the other charges
// may be left unjudged: Allowed is true and the rest of their Decision is zero.
//
// # Not asked
//
// The suite knows nothing of servers, networks or memory bounds. A store tests those itself. It asks for no more
// than 150 counters at a time, which no store may forget early.
package limitertest
