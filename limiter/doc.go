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
// # Time
//
// Every store decides in whole milliseconds since the Unix epoch, on its own clock, and windows are aligned to
// the epoch: a window of one minute begins when the clock shows second 0. Waits are rounded up, remaining units
// down, so that whoever waits as long as told is let in.
//
// # Writing a store
//
// A store keeps counters; package algorithm says what they mean, and package limitertest checks the result.
package limiter
