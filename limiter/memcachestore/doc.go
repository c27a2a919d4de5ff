// Package memcachestore is a [limiter.Store] on memcached, through the gomemcache client. It runs
// [limiter.SlidingWindow] and [limiter.FixedWindow].
//
// It is the engine of package [kvstore] over memcached's counters. Each counter and window is one item. A charge reads
// the items, increases one by incr, verifies the result and, if it no longer fits, subtracts its units by decr. Package
// kvstore says what is guaranteed. In short: a limit is never exceeded however many callers race, as long as memcached
// keeps its items and the clocks of all processes agree within [Config].Skew.
//
// # memcached
//
//   - Items that memcached loses, by a restart or by eviction, free their keys: at most the limit more in a window
//     for each loss. Give counters a server of their own, or memory enough that nothing is evicted.
//   - While memcached is down every decision is an error, at once after the first few; the caller's policy decides.
//   - With several servers the client's selector spreads the items. The two windows of a SlidingWindow may be on two
//     servers, and it fails while either is down. When a server is added or removed most keys start anew.
//   - A time to live is in whole seconds and may end one second early: items live up to two seconds longer.
//
// # The client
//
// gomemcache knows no contexts and waits for its own Timeout, 500 ms unless set. A decision does not: it fails after
// [Config].Timeout, and a bounded number of goroutines waits for the client. Set the client's MaxIdleConns to the
// number of keys that are asked for at the same time: it is 2 unless set, and every call beyond opens a connection and
// closes it again. Callers who ask for one key share their calls, so a client that sends a thousand requests at once
// needs a connection or two.
//
// The client does not notice that an idle connection went silent, as behind a firewall that has forgotten it. When
// calls time out and that opens the breaker, or a probe of it times out, the store closes the connections that the
// client keeps idle, by its Close, so that the next probe dials: see [kvstore.Reconnector]. The client works on, and
// connections in use are left alone; other code that uses the client dials too.
package memcachestore
