// Package storekit holds what every [limiter.Store] behind a network needs beside the counting itself, for the
// authors of such stores:
//
//   - a [DenyCache] answers clients that were just refused without asking the server again;
//   - a [Breaker] stops asking a server that is down, and finds out by itself when it is back;
//   - [Calls] bounds how long a caller waits for a client library that has no deadlines of its own, and how many calls
//     pile up behind a server that stalls;
//   - [WithTimeout] gives a store of which nobody knows how long it takes the time-out that a caller relies on;
//   - [WithFallback] counts in this process while a store cannot decide;
//   - a [Clock] never goes back;
//   - [AppendName] makes a readable or hashed part of a counter's name.
//
// Each is useful without the others. The package example puts them together in the order in which a decision passes
// them: limits of 0, which need no server (package algorithm), deny cache, breaker, call, and then both learn what came
// of it.
//
// A call is one exchange with the server. Moments are a [time.Duration] on one [Clock] and are passed in, so that one
// reading serves a whole decision and a test moves time as it likes.
package storekit
