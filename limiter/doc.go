// Package limiter holds the rules of rate limiting without any transport: what a [Limit] is, how a [Store] is
// asked for a decision, and a [Limiter] over both.
//
// Most programs reach it through the HTTP middleware in the module's root. Use it directly to limit something
// that is not a request:
//
//	store, err := memstore.New(memstore.Config{})
//	...
//	mail, err := limiter.New(store, "mail", limiter.PerHour(20), limiter.PerDay(100))
//	...
//	d, err := mail.Allow(ctx, recipient)
//
// An error is the store's: it could not decide, and what to do then is up to the caller. A store that
// storekit.WithFallback returns counts in this process instead.
//
// # Words
//
//   - unit: what a limit counts. A request costs one unit unless its Cost says otherwise.
//   - charge: a question to one counter, for some units. The charges of one [Store].Take call are a batch.
//   - counter: what is kept for one (Scope, Key, Algorithm, Window).
//   - window: the stretch of time for which a limit holds. Windows are aligned to the Unix epoch.
//   - boundary: the moment at which one window ends and the next begins.
//   - part: a tenth of a window of a [StrictWindow], in which it counts.
//   - flight: one call to a server that answers several callers at once.
//
// # Time
//
// Every store decides in whole milliseconds since the Unix epoch, on its own clock. A window of one minute begins
// when that clock shows second 0. Waits are rounded up and remaining units down: a caller that waits for
// RetryAfter is allowed, unless other callers spend the units meanwhile.
//
// # Writing a store
//
// A store keeps counters. Package algorithm defines what they mean, and package limitertest checks the result.
package limiter
