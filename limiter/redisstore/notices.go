package redisstore

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

const (
	// nearShare is the share of the time-out, one part in so many, at which a round trip is near it: the next slow
	// moment of the network is too late.
	nearShare = 2

	// trips is how many flights the fastest is taken of. All of them are slow only where the way is long.
	trips = 16
)

// notices are the warnings of a store, each written once.
type notices struct {
	logger                *slog.Logger
	near, evicting, ahead atomic.Bool
}

// roundTrip warns if a round trip comes near the time-out.
func (n *notices) roundTrip(d, timeout time.Duration) {
	if n != nil && d > timeout/nearShare && !n.near.Swap(true) {
		n.logger.Warn("redisstore: the round trip to the server comes near the time-out, so that decisions fail: "+
			"set a longer Timeout, or a server that is nearer", "round_trip", d, "timeout", timeout)
	}
}

// eviction warns of a policy under which a full server forgets counters.
func (n *notices) eviction(policy string) {
	if n == nil || policy == "" || policy == "noeviction" || n.evicting.Swap(true) {
		return
	}
	n.logger.Warn("redisstore: a full server forgets counters, which frees clients that are over their limit: "+
		"set maxmemory-policy noeviction", "maxmemory_policy", policy)
}

// clockAhead warns if this process is so far ahead of the server that the scripts have to ask how old each window is.
func (n *notices) clockAhead(ahead int64, batches []*batch) {
	const tags = 32 // see "Windows" in general.lua
	if n == nil || ahead < tags || n.ahead.Load() {
		return
	}
	for _, b := range batches {
		for i := range b.asks {
			l := &b.asks[i].limit
			windowed := l.Algorithm == limiter.SlidingWindow || l.Algorithm == limiter.FixedWindow
			if windowed && ahead > (tags-1)*l.Window.Milliseconds() && !n.ahead.Swap(true) {
				n.logger.Warn("redisstore: the clock of this process is ahead of the server's by more than 31 windows, "+
					"which costs the server more than twice the time for a decision: set one of the clocks",
					"ahead", time.Duration(ahead)*time.Millisecond, "window", l.Window)
				return
			}
		}
	}
}
