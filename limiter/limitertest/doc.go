// Package limitertest tests implementations of [limiter.Store]: the same cases, vectors, races and random batches for
// every store, so that a program can change its store without a change in what its limits mean.
//
// A store's test calls [Run].
//
// # What a store has to do
//
// The contract is the comment of [limiter.Store] and of the types that it names. In short:
//
//  1. A counter is (Scope, Key, Algorithm, Window), whatever bytes those strings hold. Requests and Burst are no
//     part of it: when they change, what was spent stays spent.
//  2. Take judges the charges in order, each on top of those before it that fit, and spends the whole batch or
//     nothing.
//  3. A refusal spends nothing, ever, and is not an error. After it Remaining, ResetAfter and State describe each
//     counter as it is.
//  4. Every store decides in whole milliseconds since the Unix epoch, State.At, with windows aligned to it. All
//     charges on one counter in one batch are decided at one moment.
//  5. RetryAfter is exact: at that millisecond the charge fits, one millisecond earlier it does not. ResetAfter is
//     exact likewise. The units that earlier charges of the batch take from the same counter have to fit, too.
//  6. Counts never fall below zero and saturate at [limiter.MaxCount].
//  7. A refund goes to the window of State.At, if that is the current or the previous one now, else nowhere; without
//     State.At it goes to the current and then to the previous window. A SlidingLog refunds its newest units, and a
//     StrictWindow those of the part of State.At or, without it, its newest.
//  8. A step of the clock, of any size, locks no key out for longer than two windows (TokenBucket: than its
//     refill) and frees no key that is over its limit. RetryAfter is exact after it.
//  9. An algorithm that a store does not run is an error that wraps [limiter.ErrUnsupported], and nothing of the
//     batch is spent.
//  10. Take is safe for concurrent use: of any number of callers of one key exactly the limit is admitted. After Take
//     has returned, also early because its context ended, the store touches neither the charges nor their strings.
//
// A store may cache its refusals, as DenyCache of package storekit does: it answers a charge again with the State and
// the Decision of an earlier refusal, whose waits are shorter by the time since then. The other charges of such a batch
// may be left unjudged: their Allowed is true and the rest of their Decision is zero.
//
// # What the suite does not test
//
// The suite knows nothing of servers, networks or memory bounds; a store tests those itself. It uses at most 150
// counters at a time, and no store may evict one of so few.
package limitertest
