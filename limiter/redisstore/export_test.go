package redisstore

import (
	"context"
	"slices"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// TakeInOneFlight decides batches as if their callers had met in one flight, and returns the order in which the server
// did: what fast.lua left to general.lua comes last.
func (s *Store) TakeInOneFlight(
	ctx context.Context, charges [][]limiter.Charge,
) (order []int, taken []bool, faults []error) {
	b := s.servers.first
	flight := make([]*batch, len(charges))
	for i := range charges {
		flight[i] = s.batches.get(s.clock.Now())
		flight[i].add(s.prefix, charges[i])
		flight[i].order = flight[i].sortKey(b.seed)
	}
	sent := slices.Clone(flight)
	arrange(sent)
	outcomes := b.send(ctx, sent)
	taken, faults = make([]bool, len(charges)), make([]error, len(charges))
	var last []int
	for i, own := range sent {
		n := slices.Index(flight, own)
		if own.isFast() && outcomes[i].values != nil {
			last = append(last, n)
		} else {
			order = append(order, n)
		}
		own.outcome = outcomes[i]
		taken[n], faults[n] = own.decide(charges[n])
	}
	return append(order, last...), taken, faults
}

// Settle returns when nothing looks after connections any more.
func (s *Store) Settle() {
	busy := func(b *batcher) bool { return b.contact != nil && b.contact.looking.Load() }
	for any := true; any; time.Sleep(time.Millisecond) {
		any = busy(s.servers.first)
		s.servers.others.Range(func(_, other interface{}) bool {
			any = any || busy(other.(*batcher))
			return true
		})
	}
}
