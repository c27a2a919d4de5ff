package redisstore

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/storekit"
)

var _ limiter.StatsReporter = (*Store)(nil)

// tally counts the flights of one server that have ended. It is guarded by the batcher's lock, which every flight takes
// at its end: callers do not pay for it.
type tally struct {
	calls, failed, callers uint64
	sizes                  [len(limiter.ServerStats{}.FlightSizes)]uint64

	timed   int           // flights since the fastest was last looked at
	fastest time.Duration // of these
}

// flight counts a flight. Now and then it returns how long the fastest of the latest took, else 0.
func (t *tally) flight(f *flight, now time.Duration, how storekit.Outcome) (fastest time.Duration) {
	if !f.sent {
		return 0
	}
	t.calls++
	t.callers += uint64(len(f.batches))
	t.sizes[min(bits.Len(uint(len(f.batches)-1)), len(t.sizes)-1)]++
	if how != storekit.Succeeded {
		t.failed++
		return 0
	}
	took := now - f.began
	if t.timed == 0 || took < t.fastest {
		t.fastest = took
	}
	if t.timed++; t.timed < trips {
		return 0
	}
	t.timed = 0
	return t.fastest
}

// Stats implements [limiter.StatsReporter]. Its servers are those that the client's topology names; a batch that is
// tried again is a call more. The numbers of a server that has left the topology are gone.
func (s *Store) Stats() limiter.StoreStats {
	stats := limiter.StoreStats{
		Name:              s.name,
		DenyCacheEntries:  s.cache.Entries(),
		DenyCacheCapacity: s.cache.Capacity(),
		DenyCacheHits:     s.cache.Hits(),
		SpentUnderError:   s.spentUnderError.Load(),
	}
	s.servers.each(func(address string, b *batcher) {
		stats.Servers = append(stats.Servers, b.stats(address))
	})
	slices.SortFunc(stats.Servers, func(a, b limiter.ServerStats) int { return cmp.Compare(a.Address, b.Address) })
	return stats
}

func (b *batcher) stats(address string) limiter.ServerStats {
	state := b.breaker.State(b.clock.Now())
	s := limiter.ServerStats{Address: address, Healthy: !state.Open, Since: state.Since, NextProbe: state.NextProbe}
	if state.Cause != nil {
		s.Cause = state.Cause.Error()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	s.Calls, s.Failed, s.Callers, s.FlightSizes = b.tally.calls, b.tally.failed, b.tally.callers, b.tally.sizes
	for _, w := range b.waiting {
		if !w.gone {
			s.Waiting++
		}
	}
	for _, f := range b.flights {
		s.Waiting += int64(len(f.batches))
	}
	return s
}
