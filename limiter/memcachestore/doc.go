// Package memcachestore is a [limiter.Store] on memcached, through the gomemcache client. It runs
// [limiter.SlidingWindow] and [limiter.FixedWindow].
//
// It is the engine of package [kvstore] over memcached's counters: one item for each counter and window, read
// together, increased by incr, verified with the own increase included and given back by decr where it no longer
// fits. What holds, and what does not, is said there. In short: never above the limit however many callers race, as
// long as memcached keeps its items and the clocks of all processes agree within [Config].Skew.
//
// # memcached
//
//   - Items that memcached loses, by a restart or by eviction, free their keys: at most the limit more in a window
//     for each loss. Give counters a server of their own, or memory enough that nothing is evicted.
//   - While it is away every decision is an error, at once after the first few; the caller's policy decides.
//   - With several servers a counter's windows lie where the client's selector puts them, perhaps apart, and a
//     SlidingWindow fails while the server of either is away. A server that is added or removed moves most keys,
//     which then start anew.
//   - A time to live is in whole seconds and may end one early: items get up to two seconds more.
//
// # The client
//
// gomemcache knows no contexts and waits for its own Timeout, 500 ms unless set. A decision does not: it fails
// after [Config].Timeout, and a bounded number of goroutines waits for the client. Set the client's MaxIdleConns to
// the number of decisions that are under way at once: it is 2 unless set, and every call beyond opens a connection
// and closes it again.
package memcachestore
