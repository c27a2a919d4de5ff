package redisstore

import (
	"context"
	"slices"

	"github.com/httplimit/httplimit/limiter"
)

// TakeInOneTrip decides batches as if their callers had met, and returns the order in which the server did.
func (s *Store) TakeInOneTrip(ctx context.Context, charges [][]limiter.Charge) (order []int, taken []bool, faults []error) {
	l := s.servers.first
	aboard := make([]*batch, len(charges))
	for i := range charges {
		aboard[i] = s.batches.get(s.clock.Now())
		aboard[i].add(s.prefix, charges[i])
		aboard[i].order = aboard[i].placed(l.seed)
	}
	sent := slices.Clone(aboard)
	arrange(sent)
	outcomes := l.send(ctx, sent)
	taken, faults = make([]bool, len(charges)), make([]error, len(charges))
	for i, b := range sent {
		n := slices.Index(aboard, b)
		order = append(order, n)
		b.outcome = outcomes[i]
		taken[n], faults[n] = b.decide(charges[n])
	}
	return order, taken, faults
}
