package redisstore

import (
	"context"
	"slices"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// part is the charges of one key, which may be in one call on every kind of server.
type part struct {
	charges []limiter.Charge // copies
	places  []int            // of each in the caller's batch
}

func oneKey(charges []limiter.Charge) bool {
	for i := range charges {
		if charges[i].Key != charges[0].Key {
			return false
		}
	}
	return true
}

// byKey splits a batch, in the order in which its keys come.
func byKey(charges []limiter.Charge) []part {
	var parts []part
	for i := range charges {
		key := charges[i].Key
		at := slices.IndexFunc(parts, func(p part) bool { return p.charges[0].Key == key })
		if at < 0 {
			at = len(parts)
			parts = append(parts, part{})
		}
		parts[at].charges = append(parts[at].charges, charges[i])
		parts[at].places = append(parts[at].places, i)
	}
	return parts
}

// takeApart decides charges of several keys that cannot be in one call: they are spent key after key until one
// refuses. Then what was spent is given back, the last first, and the keys left are judged and not spent, so that
// every charge gets its decision.
func (s *Store) takeApart(ctx context.Context, charges []limiter.Charge, start time.Duration) (taken bool, err error) {
	var usages []limiter.Usage
	var spent []limiter.Charge
	of := make([]int, len(charges))
	refused := false
	for _, p := range byKey(charges) {
		b, err := s.ask(ctx, p.charges, start, refused)
		if err != nil {
			s.giveBack(ctx, spent, start)
			return false, err
		}
		if b.outcome.taken() {
			spent = append(spent, b.spent(p.charges)...)
		} else {
			refused = true
		}
		if err := b.read(p.charges); err != nil {
			return false, err
		}
		for i, place := range p.places {
			of[place] = len(usages) + b.of[i]
		}
		usages = append(usages, b.usages...)
	}
	if refused {
		s.giveBack(ctx, spent, start)
	}
	return limiter.Decide(charges, usages, of), nil
}

// ask has a batch decided and its outcome read. The batch is not reused: usages of logs refer to it.
func (s *Store) ask(ctx context.Context, charges []limiter.Charge, start time.Duration, judgeOnly bool) (*batch, error) {
	b := s.batches.get(start)
	b.add(s.prefix, charges)
	if judgeOnly {
		b.spendNothing()
	}
	if err := s.servers.of(ctx, b).do(ctx, b); err != nil {
		return nil, err
	}
	return b, b.read(charges)
}

// spent is what a batch that was taken has changed, one charge for each of its counters.
func (b *batch) spent(charges []limiter.Charge) []limiter.Charge {
	usages, copies := slices.Clone(b.usages), slices.Clone(charges)
	limiter.Decide(copies, usages, b.of)
	var changed []limiter.Charge
	for i, u := range usages {
		if cost := u.Spent - u.Returned; cost != 0 {
			c := charges[slices.Index(b.of, i)]
			c.Cost, c.State = cost, limiter.State{At: u.At}
			changed = append(changed, c)
		}
	}
	return changed
}

// giveBack undoes what was spent, the last first. It waits for that no longer than the caller of a decision may, who
// came at start; what is left then goes on for one more timeout at most.
func (s *Store) giveBack(ctx context.Context, spent []limiter.Charge, start time.Duration) {
	if len(spent) == 0 {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, c := range slices.Backward(spent) {
			// A refund is undone by a charge that always fits.
			c.Cost, c.Mode = -c.Cost, limiter.Force
			// An error leaves the units spent: too strict, for at most two windows, and nobody is freed.
			_, _ = s.ask(context.WithoutCancel(ctx), []limiter.Charge{c}, s.clock.Now(), false)
		}
	}()
	timer := time.NewTimer(start + s.timeout - s.clock.Now())
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}
