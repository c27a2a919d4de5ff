package redisstore

import (
	"sync/atomic"

	"github.com/httplimit/httplimit/limiter/storekit"
)

// serverTime is the latest time that any server can have told anybody, as far as this process knows: it starts as the
// wall clock and follows the servers forward, never back. The script compares it with the server's own, to see when
// that went back by so much that a window's tag no longer tells the window.
type serverTime struct {
	clock *storekit.Clock
	ahead atomic.Int64 // milliseconds by which servers were ahead of the clock
}

// latest is in Unix milliseconds.
func (t *serverTime) latest() int64 { return t.clock.UnixMilli(t.clock.Now()) + t.ahead.Load() }

// saw takes in what a server told.
func (t *serverTime) saw(at int64) {
	ahead := at - t.clock.UnixMilli(t.clock.Now())
	for {
		was := t.ahead.Load()
		if ahead <= was || t.ahead.CompareAndSwap(was, ahead) {
			return
		}
	}
}
