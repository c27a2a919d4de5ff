package kvstore

import (
	"errors"
	"math/bits"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

var _ limiter.StatsReporter = (*Store)(nil)

// tally counts the flights that have ended. It is guarded by the queue's lock, which every flight takes at its end.
type tally struct {
	calls, failed, callers uint64
	sizes                  [len(limiter.ServerStats{}.FlightSizes)]uint64
}

// flight counts a flight that ended with err.
func (t *tally) flight(f *flight, err error) {
	t.calls++
	t.callers += uint64(len(f.batches))
	t.sizes[min(bits.Len(uint(len(f.batches)-1)), len(t.sizes)-1)]++
	if err != nil && !decides(err) {
		t.failed++
	}
}

// decides reports whether err is an answer of a KV that works.
func decides(err error) bool { return errors.Is(err, errRaced) || errors.Is(err, ErrValue) }

// Stats implements [limiter.StatsReporter]. The KV is one server, by the name of Config.Address, however many there are
// behind it. One of its Calls is a flight: mostly one or two calls of the KV, one after the other.
func (s *Store) Stats() limiter.StoreStats {
	state := s.breaker.State(s.clock.Now())
	server := limiter.ServerStats{
		Address: s.address, Healthy: !state.Open, Since: state.Since, NextProbe: state.NextProbe,
	}
	if state.Cause != nil {
		server.Cause = state.Cause.Error()
	}
	s.queue.stats(&server)
	return limiter.StoreStats{
		Name:              s.name,
		Servers:           []limiter.ServerStats{server},
		DenyCacheEntries:  s.refusals.Entries(),
		DenyCacheCapacity: s.refusals.Capacity(),
		DenyCacheHits:     s.refusals.Hits(),
		SpentUnderError:   s.spentUnderError.Load(),
	}
}

func (q *queue) stats(s *limiter.ServerStats) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := &q.tally
	s.Calls, s.Failed, s.Callers, s.FlightSizes = t.calls, t.failed, t.callers, t.sizes
	now := time.Now()
	s.Waiting = int64(q.waiting)
	for _, l := range q.lines {
		for _, f := range l.flights {
			if !f.over(now, q.timeout) {
				s.Waiting += int64(len(f.batches))
			}
		}
	}
}
