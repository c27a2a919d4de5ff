// Package redisstore is a [limiter.Store] in Redis 6.2 or later, through go-redis: one limit for a whole fleet. It runs
// all five algorithms, on the server's clock, each batch in one step of a Lua script.
//
// # Many callers, one flight
//
// A caller that comes alone makes its own call. Callers that come while it is under way wait for its end and go
// together in the next flight, led by the first of them: one script for up to 128 keys on a single server or with
// Sentinel, a pipeline of scripts to each master of a Cluster. No goroutine does that, and a caller that is alone never
// waits. A flight that takes longer than an eighth of Timeout holds up nobody: another starts, up to four to one
// server.
//
// There are three scripts: windows.lua for the common batch, of charges on windows; strict.lua for one charge on a
// StrictWindow; and general.lua for all others. A flight of several kinds calls each once, in one pipeline.
//
// Set ContextTimeoutEnabled in the options of the client. Otherwise go-redis ignores deadlines while it reads, and each
// flight costs a goroutine, so that no caller is held beyond [Config].Timeout.
//
// # What is sent, and how often
//
// A script whose reply was lost may have spent. It is never sent again, whatever MaxRetries of the client is, and the
// decision fails. Only what proves that nothing was executed is tried again, within the time-out: no connection, a
// server that is loading or has become a replica, a slot that is moving. A server that does not know a script, as after
// a restart or SCRIPT FLUSH, gets its source.
//
// A server that fails again and again is left alone by a [storekit.Breaker], one for each master. A client that was
// just refused is answered by a [storekit.DenyCache] without a call.
//
// # Connections
//
// A call has no time to dial, for TLS and for the greeting of the client where the server is far. So at first contact,
// and after a call without an answer, one goroutine a server looks after its connections: it tries the idle ones, which
// drops those that went silent, and a new one, which shows why the server is not reached; to a distant server it makes
// some for the calls to come. It ends within the DialTimeout and the ReadTimeout of the client together. That new
// connection is dialled by the Dialer of the client's options; hooks of the client do not see it.
//
// A server that is full, a replica, or misses its replicas denies writes and answers reads. Batches that want to write
// fail then, each for itself; refusals stand.
//
// # Keys
//
// A counter is one key, prefix{key}:scope:algorithm:window, with the braces of a hash tag: all counters of a client
// lie in one slot. Keys and scopes of up to 64 printable characters stand as they are, others as 128 bits of their
// SHA-256. A window's two counts are one number, which Redis stores in 16 bytes; every key expires after at most two
// windows, a bucket's when it is full.
//
// # Clocks
//
// Clocks of callers do not change a decision. Where the server's own goes back, as after a failover, counts stay as
// they are and count for the present, so that nobody is freed and nobody is locked out for longer than two windows.
package redisstore
