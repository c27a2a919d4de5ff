package replay

import (
	"slices"

	"github.com/httplimit/httplimit/cmd/httplimit/internal/report"
	"github.com/httplimit/httplimit/limiter"
)

// comparison replays a rule alone, with the same requests per window under every algorithm.
type comparison struct {
	window  int64 // milliseconds
	calm    int64 // units within two windows under which no algorithm refuses anything
	results []result
}

// result is that of one algorithm.
type result struct {
	limit                   limiter.Limit
	leftOut                 string
	refused, clientsRefused int64
	mostAdmitted            int64
	waits                   waits
}

var algorithms = []limiter.Algorithm{limiter.SlidingWindow, limiter.SlidingLog, limiter.FixedWindow,
	limiter.TokenBucket, limiter.StrictWindow}

func newComparison(l limiter.Limit) *comparison {
	c := &comparison{window: l.Window.Milliseconds(), calm: l.Requests}
	for _, a := range algorithms {
		r := result{limit: limiter.Limit{Requests: l.Requests, Window: l.Window, Algorithm: a}}
		if a == l.Algorithm {
			r.limit = l
		}
		if err := r.limit.Validate(); err != nil {
			r.leftOut = err.Error()
		}
		c.calm = min(c.calm, r.limit.Capacity())
		c.results = append(c.results, r)
	}
	return c
}

// contender is one client in a comparison. As long as its units of two windows are few, no algorithm can have refused
// anything, and what each of them would hold follows from them: every window and log has forgotten what is older, and a
// bucket that was asked for no more than its capacity in every two windows is full of what it had two windows ago.
type contender struct {
	recent unitLog // admitted within the last two windows, while it is calm
	apart  []single
}

// single is a client under one algorithm.
type single struct {
	counter  counter
	admitted unitLog // within the last window
	refused  bool
}

// isCalm reports whether a client's first request passes under every algorithm, and counts it as admitted: see can be
// told of it later.
func (c *comparison) isCalm(a asked) bool {
	if a.cost > c.calm {
		return false
	}
	for i := range c.results {
		if a.counted {
			c.results[i].mostAdmitted = max(c.results[i].mostAdmitted, a.cost)
		}
	}
	return true
}

// see notes a request of a client.
func (c *comparison) see(k *contender, at, cost int64, counted bool) {
	if k.apart == nil {
		k.recent.expire(at-2*c.window, at)
		if k.recent.inUse()+cost <= c.calm && len(k.recent.taken) < maxMoments {
			if counted {
				k.recent.add(at, cost)
				c.noteMost(&k.recent, at)
			}
			return
		}
		c.split(k)
	}
	for i := range c.results {
		if r := &c.results[i]; r.leftOut == "" {
			r.decide(&k.apart[i], c.window, at, cost, counted)
		}
	}
}

// noteMost notes the most units within one window of a client that is the same under every algorithm.
func (c *comparison) noteMost(recent *unitLog, at int64) {
	n := recent.since(at - c.window)
	for i := range c.results {
		c.results[i].mostAdmitted = max(c.results[i].mostAdmitted, n)
	}
}

// split begins to follow a client under each algorithm, from what it was admitted lately.
func (c *comparison) split(k *contender) {
	k.apart = make([]single, len(c.results))
	before := k.recent.gone
	for _, t := range k.recent.taken {
		for i := range c.results {
			if r := &c.results[i]; r.leftOut == "" {
				r.decide(&k.apart[i], c.window, t.at, t.sum-before, true)
			}
		}
		before = t.sum
	}
	k.recent = unitLog{}
}

// decide judges one request of a client.
func (r *result) decide(s *single, window, at, cost int64, counted bool) {
	charge := limiter.Charge{Limit: r.limit, Cost: cost}
	u := s.counter.load(&r.limit, at)
	if !u.Judge(&charge) {
		if !s.refused {
			s.refused = true
			r.clientsRefused++
		}
		r.refused++
		r.waits.add(charge.RetryAfter)
		return
	}
	if !counted {
		return
	}
	s.counter.save(&r.limit, &u)
	s.admitted.expire(at-window, at)
	s.admitted.add(at, cost)
	s.admitted.coarsen()
	r.mostAdmitted = max(r.mostAdmitted, s.admitted.inUse())
}

// since returns how many units were taken after that moment.
func (l *unitLog) since(after int64) int64 {
	i, _ := slices.BinarySearchFunc(l.taken, after, func(t takenUnits, at int64) int {
		if t.at <= at {
			return -1
		}
		return 1
	})
	if i == 0 {
		return l.inUse()
	}
	return l.gone + l.inUse() - l.taken[i-1].sum
}

// maxMoments is how many moments of one client's last window are kept apart.
const maxMoments = 4096

// coarsen joins neighbouring moments where there are too many. They then expire with the earlier one, so the most units
// in a window that come out are at most too low, by the units of a 2,000th of a window.
func (l *unitLog) coarsen() {
	if len(l.taken) <= maxMoments {
		return
	}
	kept := make([]takenUnits, 0, maxMoments)
	for i := 0; i < len(l.taken); i += 2 {
		one := l.taken[i]
		if i+1 < len(l.taken) {
			one.sum = l.taken[i+1].sum
		}
		kept = append(kept, one)
	}
	l.taken = kept
}

// outcomes are what a report tells of the comparison.
func (c *comparison) outcomes() []report.Outcome {
	all := make([]report.Outcome, len(c.results))
	for i := range c.results {
		r := &c.results[i]
		all[i] = report.Outcome{Algorithm: r.limit.Algorithm, LeftOut: r.leftOut}
		if r.leftOut != "" {
			continue
		}
		q := r.waits.quantiles(0.5, 0.9, 0.99, 1)
		all[i].Refused, all[i].ClientsRefused, all[i].MostAdmitted = r.refused, r.clientsRefused, r.mostAdmitted
		all[i].Wait50, all[i].Wait90, all[i].Wait99, all[i].WaitMax = q[0], q[1], q[2], q[3]
	}
	return all
}
