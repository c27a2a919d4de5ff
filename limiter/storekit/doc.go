// Package storekit holds what every [limiter.Store] behind a network needs beside the counting itself, for the
// authors of such stores:
//
//   - a [DenyCache] answers clients that were just refused without asking the server again;
//   - a [Breaker] stops asking a server that is down, and finds out by itself when it is back;
//   - [Trips] keeps callers from waiting longer than a deadline for a client library that knows none, and keeps
//     calls from piling up behind a server that stalls;
//   - a [Clock] never goes back.
//
// The package example shows the order in which a decision passes them.
//
// All moments are a [time.Duration] on one clock that never goes back and are passed in, so that one reading
// serves a whole decision and a test moves time as it likes.
package storekit
