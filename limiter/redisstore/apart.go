package redisstore

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
)

// part is the charges of one key, which may be in one call on every kind of server.
type part struct {
	charges []limiter.Charge // copies
	places  []int            // of each in the caller's batch
	answer  *batch
	err     error
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

// takeApart decides charges of several keys that cannot be in one call. All keys but the first are judged without
// being spent; if they fit, the keys are spent in order, so that a refusal spends nothing. Only where another caller
// came in between does a later key refuse after all: then what was spent is given back, the last first, and met tells
// so, because the refusal may rest on what others give back as well.
func (s *Store) takeApart(ctx context.Context, charges []limiter.Charge, start time.Duration) (taken, met bool, err error) {
	parts := byKey(charges)
	fit, err := s.judge(ctx, parts[1:], start)
	if err == nil && !fit {
		_, err = s.judge(ctx, parts[:1], start)
		return false, false, merge(charges, parts, err)
	}
	spent := 0
	for ; err == nil && spent < len(parts); spent++ {
		if taken, err = s.ask(ctx, &parts[spent], start, false); !taken {
			break
		}
	}
	if spent < len(parts) {
		s.giveBack(ctx, parts[:spent], start)
	}
	return spent == len(parts), spent > 0 && spent < len(parts), merge(charges, parts, err)
}

// judge has parts decided and not spent, all at once, and tells whether all fit.
func (s *Store) judge(ctx context.Context, parts []part, start time.Duration) (fit bool, err error) {
	var wg sync.WaitGroup
	for i := range parts {
		wg.Go(func() { _, parts[i].err = s.ask(ctx, &parts[i], start, true) })
	}
	wg.Wait()
	fit = true
	for i := range parts {
		if err := parts[i].err; err != nil {
			return false, err
		}
		taken, _ := parts[i].decide()
		fit = fit && taken
	}
	return fit, nil
}

// ask has a part decided and keeps the answer. Its batch is not reused, as usages of logs refer to it.
func (s *Store) ask(ctx context.Context, p *part, start time.Duration, judgeOnly bool) (taken bool, err error) {
	b := s.batches.get(start)
	b.add(s.prefix, p.charges)
	if judgeOnly {
		b.spendNothing()
	}
	if err := s.servers.of(ctx, b).do(ctx, b); err != nil {
		return false, err
	}
	if err := b.read(p.charges); err != nil {
		return false, err
	}
	p.answer = b
	return b.outcome.taken(), nil
}

// decide is what the answer means for the part alone, and how it changes the counters.
func (p *part) decide() (taken bool, usages []algorithm.Usage) {
	usages = slices.Clone(p.answer.usages)
	taken = algorithm.Decide(slices.Clone(p.charges), usages, p.answer.of)
	p.answer.moments.rewind()
	return taken, usages
}

// spent is what the part has changed, one charge for each of its counters.
func (p *part) spent() []limiter.Charge {
	var changed []limiter.Charge
	_, usages := p.decide()
	for i, u := range usages {
		if cost := u.Spent - u.Returned; cost != 0 {
			c := p.charges[slices.Index(p.answer.of, i)]
			c.Cost, c.State = cost, limiter.State{At: u.At}
			changed = append(changed, c)
		}
	}
	return changed
}

// merge decides the caller's batch from the answers to its parts.
func merge(charges []limiter.Charge, parts []part, err error) error {
	if err != nil {
		return err
	}
	var usages []algorithm.Usage
	of := make([]int, len(charges))
	for _, p := range parts {
		for i, place := range p.places {
			of[place] = len(usages) + p.answer.of[i]
		}
		usages = append(usages, p.answer.usages...)
	}
	algorithm.Decide(charges, usages, of)
	return nil
}

// giveBack undoes what was spent, the last first. It waits for that no longer than the caller of a decision may, who
// came at start; what is left then goes on for one more timeout at most.
func (s *Store) giveBack(ctx context.Context, parts []part, start time.Duration) {
	if len(parts) == 0 {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, p := range slices.Backward(parts) {
			for _, c := range p.spent() {
				// A refund is undone by a charge that always fits.
				c.Cost, c.Mode = -c.Cost, limiter.Force
				// An error leaves the units spent: too strict, for at most two windows, and nobody is freed.
				_, _ = s.ask(context.WithoutCancel(ctx), &part{charges: []limiter.Charge{c}}, s.clock.Now(), false)
				s.cache.Drop(&c, s.clock.Now())
			}
		}
	}()
	timer := time.NewTimer(start + s.timeout - s.clock.Now())
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}
