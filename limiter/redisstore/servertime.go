package redisstore

import (
	"sync/atomic"

	"github.com/httplimit/httplimit/limiter/storekit"
)

// serverTime is an upper bound on every server time that any process has seen, as far as this one knows: it starts as
// the wall clock and follows the servers forward, never back. The scripts compare it with the server's own, to see when
// that went back by so much that a window's tag no longer says which window.
type serverTime struct {
	clock *storekit.Clock
	ahead atomic.Int64 // milliseconds by which servers were ahead of the clock
}

// latest returns it in Unix milliseconds.
func (t *serverTime) latest() int64 { return t.now() + t.ahead.Load() }

// now returns the time of this process in Unix milliseconds.
func (t *serverTime) now() int64 { return t.clock.UnixMilli(t.clock.Now()) }

// saw takes in what a server answered.
func (t *serverTime) saw(at int64) {
	ahead := at - t.now()
	for {
		was := t.ahead.Load()
		if ahead <= was || t.ahead.CompareAndSwap(was, ahead) {
			return
		}
	}
}
