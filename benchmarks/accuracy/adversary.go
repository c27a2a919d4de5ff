package main

import (
	"math/rand/v2"
	"strconv"
	"time"
)

const (
	planSlots = 61 // three windows of twenty slots
	slot      = window / 20
)

// plan says how many requests an adversary sends at the start of each slot, and how many a millisecond before its end.
type plan [planSlots][2]int

// known are plans that have done well against one limiter or another.
func known() (plans []plan) {
	var flood, late, early, paced, both plan
	for i := range planSlots {
		flood[i] = [2]int{limit, limit}
		if i >= 19 {
			late[i] = [2]int{limit, limit}
		}
	}
	for i := 20; i < planSlots; i++ {
		paced[i] = [2]int{limit / 25, 0}
	}
	paced[19] = [2]int{0, limit}
	early, both = late, paced
	for _, p := range []*plan{&early, &both} {
		p[0][0], p[19] = 1, [2]int{0, limit - 1}
	}
	return []plan{flood, late, early, paced, both}
}

// mutated returns a plan that differs a little.
func (p plan) mutated(random *rand.Rand) plan {
	for range 1 + random.IntN(4) {
		p[random.IntN(planSlots)][random.IntN(2)] = []int{0, 0, 1, 2, 5, limit / 10, limit / 2, limit}[random.IntN(8)]
	}
	return p
}

// run carries a plan out with a client of its own, and returns the most that it got within one window.
func (p plan) run(take decide, client string) int {
	var requests []request
	for i, tries := range p {
		for at, n := range tries {
			for range n {
				when := time.Duration(i)*slot + time.Duration(at)*(slot-time.Millisecond)
				requests = append(requests, request{when, client})
			}
		}
	}
	return replay(take, requests, limit, window).most
}

// search climbs from the best of the known plans, and from random ones, to plans that get more. The adversary knows
// when windows begin, and at which moments whole seconds do. It returns the most that a plan got within one window.
func search(take decide, steps int) (most int) {
	random := rand.New(rand.NewPCG(15, 2))
	var best plan
	client := 0
	try := func(p plan) {
		client++
		if got := p.run(take, "adversary "+strconv.Itoa(client)); got >= most {
			best, most = p, got
		}
	}
	for _, p := range known() {
		try(p)
	}
	for range steps {
		try(best.mutated(random))
	}
	return most
}
