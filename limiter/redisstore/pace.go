package redisstore

import (
	"sync/atomic"
	"time"
)

// pace says how soon flights follow each other. To a server near by, callers wait for the end of a flight: that takes
// no time, and they go together. To one that is far there is no time to wait: a caller who has waited for longer than
// the time-out leaves beyond the round trip is late. The zero value is for a server near by; a nil *pace too.
type pace struct {
	connections int // that the client may have; 0: unknown
	roundTrip   atomic.Int64
}

// set notes how long a round trip takes on a connection that is there: that of a ping, not that of a flight, as a
// server with too much to do must not get more.
func (p *pace) set(roundTrip time.Duration) {
	if p != nil && p.roundTrip.Load() != int64(roundTrip) {
		p.roundTrip.Store(int64(roundTrip))
	}
}

// atMost notes that a flight took no longer, so that a round trip does not either: a process with much else to do when
// it began has measured too much.
func (p *pace) atMost(d time.Duration) {
	if p != nil && d < time.Duration(p.roundTrip.Load()) {
		p.roundTrip.Store(int64(d))
	}
}

// far reports whether a round trip is so long that no connection can be made within a call.
func (p *pace) far(timeout time.Duration) bool {
	return p != nil && time.Duration(p.roundTrip.Load()) > timeout/farShare
}

// distant reports whether a round trip is so long that making a connection, which takes several, may take longer than a
// call has. It errs on the side of near: then calls that make connections may run out of time.
func (p *pace) distant(timeout time.Duration) bool {
	return p != nil && time.Duration(p.roundTrip.Load()) > timeout/distantShare
}

// linger returns for how long the answer of a flight is still read when its callers have gone. Where the server is near
// that is not worth a goroutine. Where it is far an answer that comes a little late would cost its connection, then a
// call that has no time to make another, and so on.
func (p *pace) linger(timeout time.Duration) time.Duration {
	if !p.far(timeout) {
		return 0
	}
	return timeout
}

// late returns the time after which a flight is no longer waited for: a part of the time-out, and a quarter of what the
// round trip leaves of it. Where there are too few connections for that, flights begin evenly over a round trip: the
// last of a burst would wait for the first.
func (p *pace) late(timeout time.Duration) time.Duration {
	late := timeout / lateShare
	if p != nil {
		roundTrip := time.Duration(p.roundTrip.Load())
		sooner := max((timeout-roundTrip)/4, timeout/64)
		if p.connections > 0 {
			sooner = max(sooner, roundTrip/time.Duration(p.connections))
		}
		late = min(late, sooner)
	}
	return late
}

// mostFlights bounds the connections to a distant server.
const mostFlights = 32

// flights returns how many may be under way: as many as begin within a round trip.
func (p *pace) flights(timeout time.Duration) int {
	if p == nil {
		return maxFlights
	}
	return min(max(maxFlights, 1+int(time.Duration(p.roundTrip.Load())/p.late(timeout))), mostFlights)
}
