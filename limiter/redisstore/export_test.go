package redisstore

import (
	"context"
	"slices"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// TakeInOneFlight decides batches as if their callers had met in one flight, and returns the order in which the server
// did: what windows.lua and strict.lua left to general.lua comes last.
func (s *Store) TakeInOneFlight(
	ctx context.Context, charges [][]limiter.Charge,
) (order []int, taken []bool, faults []error) {
	b := s.servers.first
	flight := make([]*batch, len(charges))
	for i := range charges {
		flight[i] = s.batches.get(s.clock.Now())
		flight[i].add(s.prefix, charges[i])
		flight[i].order = flight[i].sortKey(b.seed)
		flight[i].order |= b.refused.order(flight[i])
	}
	sent := slices.Clone(flight)
	arrange(sent)
	outcomes := b.send(ctx, sent)
	taken, faults = make([]bool, len(charges)), make([]error, len(charges))
	var last []int
	for i, own := range sent {
		n := slices.Index(flight, own)
		if own.way() != general && outcomes[i].values != nil {
			last = append(last, n)
		} else {
			order = append(order, n)
		}
		own.outcome = outcomes[i]
		b.refused.note(own)
		taken[n], faults[n] = own.decide(charges[n])
	}
	return append(order, last...), taken, faults
}

// TakeGenerally decides a batch by general.lua, whatever its way would be.
func (s *Store) TakeGenerally(ctx context.Context, charges []limiter.Charge) (taken bool, err error) {
	own := s.batches.get(s.clock.Now())
	own.add(s.prefix, charges)
	own.order = uint64(general) << wayShift
	own.outcome = s.servers.sender.send(ctx, []*batch{own})[0]
	return own.decide(charges)
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
