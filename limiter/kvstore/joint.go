package kvstore

import (
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
)

// maxCounters bounds a joint. A read of 128 counters takes a server under a millisecond, and larger ones save little.
const maxCounters = 128

// joint is some batches that are decided together, and what they ask for together: every counter once. They are judged
// in order, each on top of those before it, on one reading of the counters, and what they spend of a counter together
// is one addition. So callers who ask for one counter at the same moment are no race, and cost as much as one of them.
type joint struct {
	at       int64 // the moment of the decision, in Unix milliseconds
	batches  []*batch
	counters []counter
}

// alone makes b.joint of b alone, with the memory of b.
func (b *batch) alone() *joint {
	for i := range b.in {
		b.in[i] = i
	}
	b.joint = joint{batches: b.single.batches[:], counters: b.counters}
	return &b.joint
}

// join makes a joint of the first batches, as many as have up to maxCounters counters, and returns the others.
func join(batches []*batch) (j *joint, rest []*batch) {
	if len(batches) == 1 {
		return batches[0].alone(), nil
	}
	j = &joint{}
	index := make(map[string]int)
	for n, b := range batches {
		if n > 0 && len(j.counters)+len(b.counters) > maxCounters {
			j.batches = batches[:n]
			return j, batches[n:]
		}
		for i := range b.counters {
			c := &b.counters[i]
			at, known := index[c.base]
			if !known {
				at = len(j.counters)
				index[c.base] = at
				j.counters = append(j.counters, *c)
			}
			b.in[i] = at
		}
	}
	j.batches = batches
	return j, nil
}

// mixed reports whether the batches ask for different counters.
func (j *joint) mixed() bool {
	for _, b := range j.batches[1:] {
		if !b.asksLike(j.batches[0]) {
			return true
		}
	}
	return false
}

// split returns the batches by kind, all of one kind with the same counters, in order.
func (j *joint) split() (kinds [][]*batch) {
	for _, b := range j.batches {
		known := false
		for i := range kinds {
			if known = kinds[i][0].asksLike(b); known {
				kinds[i] = append(kinds[i], b)
				break
			}
		}
		if !known {
			kinds = append(kinds, []*batch{b})
		}
	}
	return kinds
}

// judge decides the batches on the counts of their counters, and reports whether any is taken.
func (j *joint) judge() (taken bool) {
	j.rewind()
	for _, b := range j.batches {
		j.judgeBatch(b)
		taken = taken || b.taken
	}
	return taken
}

// judgeTaken decides those anew that were taken. Those that were refused stay so: nothing was added for them.
func (j *joint) judgeTaken() (taken bool) {
	j.rewind()
	for _, b := range j.batches {
		if b.taken {
			j.judgeBatch(b)
			taken = taken || b.taken
		}
	}
	return taken
}

// rewind takes back what the batches have spent.
func (j *joint) rewind() {
	for i := range j.counters {
		c := &j.counters[i]
		c.spent, c.spentPrevious = c.count(), bounded(c.previous)
	}
}

func (j *joint) judgeBatch(b *batch) {
	copy(b.charges, b.asked)
	for i, in := range b.in {
		c := &j.counters[in]
		b.usages[i] = algorithm.Usage{}
		b.usages[i].LoadWindow(&c.limit, j.at, c.number, c.spent, c.spentPrevious)
	}
	b.taken = algorithm.Decide(b.charges, b.usages, b.of)
	for i, in := range b.in {
		b.units[i] = 0
		if b.taken {
			c, u := &j.counters[in], &b.usages[i]
			b.units[i] = u.Current + u.Spent - c.spent
			c.spent += b.units[i]
			if c.sliding() {
				c.spentPrevious = u.Previous
			}
		}
	}
}

// allFit reports whether all charges of all batches fit, as judged.
func (j *joint) allFit() bool {
	for _, b := range j.batches {
		if !b.allFit() {
			return false
		}
	}
	return true
}

// covered reports whether the batches, as judged, spend no more than they have reserved.
func (j *joint) covered() bool {
	for i := range j.counters {
		if c := &j.counters[i]; c.change() > c.reserved {
			return false
		}
	}
	return true
}

// reserves reports whether units of j are in the KV that may have to be subtracted.
func (j *joint) reserves() bool {
	for i := range j.counters {
		if j.counters[i].reserved != 0 {
			return true
		}
	}
	return false
}

// withinLimit reports whether the counter of the refused charge i of b holds no more than its limit allows. Units that
// another batch is about to subtract did not fit, so with them it holds more.
func (j *joint) withinLimit(b *batch, i int) bool {
	c := &j.counters[b.in[b.of[i]]]
	var u algorithm.Usage
	u.LoadWindow(&c.limit, j.at, c.number, c.count(), bounded(c.previous))
	return u.Judge(&limiter.Charge{Limit: b.charges[i].Limit, Mode: limiter.Peek})
}

// fail ends the batches with err, unless it is nil.
func (j *joint) fail(err error) {
	if err == nil {
		return
	}
	for _, b := range j.batches {
		b.fail(err)
	}
}

// doubt notes that the refusals of j may rest on units that others subtract.
func (j *joint) doubt() {
	for _, b := range j.batches {
		b.conclusive = false
	}
}
