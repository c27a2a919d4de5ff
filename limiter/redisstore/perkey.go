package redisstore

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
)

// keyGroup is the charges of one key, which may be in one call on every kind of server.
type keyGroup struct {
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

// groupByKey splits a batch, in the order in which its keys come.
func groupByKey(charges []limiter.Charge) []keyGroup {
	var groups []keyGroup
	for i := range charges {
		key := charges[i].Key
		at := slices.IndexFunc(groups, func(g keyGroup) bool { return g.charges[0].Key == key })
		if at < 0 {
			at = len(groups)
			groups = append(groups, keyGroup{})
		}
		groups[at].charges = append(groups[at].charges, charges[i])
		groups[at].places = append(groups[at].places, i)
	}
	return groups
}

// takePerKey decides charges of several keys that cannot be in one call. All keys but the first are judged without
// being spent; if they fit, the keys are spent in order, so that a refusal spends nothing. Only where another caller
// came in between does a later key refuse after all: then what was spent is returned, the last first, and raced is
// true, because the refusal may rest on units that others return as well.
func (s *Store) takePerKey(
	ctx context.Context, charges []limiter.Charge, start time.Duration,
) (taken, raced bool, err error) {
	groups := groupByKey(charges)
	fit, err := s.judge(ctx, groups[1:], start)
	if err == nil && !fit {
		_, err = s.judge(ctx, groups[:1], start)
		return false, false, merge(charges, groups, err)
	}
	spent := 0
	for ; err == nil && spent < len(groups); spent++ {
		if taken, err = s.ask(ctx, &groups[spent], start, false); !taken {
			break
		}
	}
	if spent < len(groups) {
		s.compensate(ctx, groups[:spent], start)
	}
	return spent == len(groups), spent > 0 && spent < len(groups), merge(charges, groups, err)
}

// judge has groups decided and not spent, all at once, and reports whether all fit.
func (s *Store) judge(ctx context.Context, groups []keyGroup, start time.Duration) (fit bool, err error) {
	var wg sync.WaitGroup
	for i := range groups {
		wg.Go(func() { _, groups[i].err = s.ask(ctx, &groups[i], start, true) })
	}
	wg.Wait()
	fit = true
	for i := range groups {
		if err := groups[i].err; err != nil {
			return false, err
		}
		taken, _ := groups[i].decide()
		fit = fit && taken
	}
	return fit, nil
}

// ask has a group decided and keeps the answer. Its batch is not reused, as usages of logs refer to it.
func (s *Store) ask(ctx context.Context, g *keyGroup, start time.Duration, judgeOnly bool) (taken bool, err error) {
	b := s.batches.get(start)
	b.add(s.prefix, g.charges)
	if judgeOnly {
		b.spendNothing()
	}
	if err := s.servers.of(ctx, b).do(ctx, b); err != nil {
		if !judgeOnly {
			s.countLost(b, g.charges)
		}
		return false, b.locate(err, g.charges)
	}
	if err := b.read(g.charges); err != nil {
		return false, err
	}
	g.answer = b
	return b.outcome.taken, nil
}

// decide returns what the answer means for the group alone, and how it changes the counters.
func (g *keyGroup) decide() (taken bool, usages []algorithm.Usage) {
	usages = slices.Clone(g.answer.usages)
	for i := range usages {
		if p := usages[i].Parts; p != nil {
			own := *p
			usages[i].Parts = &own
		}
	}
	taken = algorithm.Decide(slices.Clone(g.charges), usages, g.answer.of)
	g.answer.moments.rewind()
	return taken, usages
}

// spent returns what the group has changed, one charge for each of its counters.
func (g *keyGroup) spent() []limiter.Charge {
	var changed []limiter.Charge
	_, usages := g.decide()
	for i, u := range usages {
		if cost := u.Spent - u.Returned; cost != 0 {
			c := g.charges[slices.Index(g.answer.of, i)]
			c.Cost, c.State = cost, limiter.State{At: u.At}
			changed = append(changed, c)
		}
	}
	return changed
}

// merge decides the caller's batch from the answers to its groups.
func merge(charges []limiter.Charge, groups []keyGroup, err error) error {
	if err != nil {
		return err
	}
	var usages []algorithm.Usage
	of := make([]int, len(charges))
	for _, g := range groups {
		for i, place := range g.places {
			of[place] = len(usages) + g.answer.of[i]
		}
		usages = append(usages, g.answer.usages...)
	}
	algorithm.Decide(charges, usages, of)
	return nil
}

// compensate undoes what was spent, the last first. It waits for that no longer than the caller of a decision may, who
// came at start; what is left then goes on for one more time-out at most.
func (s *Store) compensate(ctx context.Context, groups []keyGroup, start time.Duration) {
	if len(groups) == 0 {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, g := range slices.Backward(groups) {
			for _, c := range g.spent() {
				// A refund is undone by a charge that always fits.
				c.Cost, c.Mode = -c.Cost, limiter.Force
				// An error leaves the units spent: too strict, for at most two windows, and nobody is freed.
				_, err := s.ask(context.WithoutCancel(ctx), &keyGroup{charges: []limiter.Charge{c}}, s.clock.Now(), false)
				if err != nil && c.Cost < 0 {
					s.spentUnderError.Add(uint64(-c.Cost))
				}
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
