package report

import (
	"fmt"

	"github.com/httplimit/httplimit/limiter"
)

// enoughPeople is how many clients classed as people a suggestion has to rest on: below it, the 99.9th percentile is
// the peak of a single client.
const enoughPeople = 200

// Suggestion is the limit that the people in a log would hardly notice: 1.5 times the 99.9th percentile of their peaks,
// rounded up to 1, 2 or 5 times a power of ten.
type Suggestion struct {
	Limit limiter.Limit // of the rule's algorithm; a TokenBucket's Burst is its Requests
	Peak  int64         // the 99.9th percentile of the people's peaks
	Rests int64         // on the peaks of so many people
	// Replayed reports whether Curve says what the limit would have refused: People, Bots.
	Replayed     bool
	People, Bots Counts
}

// Suggest reports the limit to suggest over w for a rule with algorithm a. If there is none, why says the reason as a
// sentence without its full stop.
func (w Window) Suggest(a limiter.Algorithm) (s Suggestion, why string) {
	people := clientsOf(w.People)
	if people == 0 {
		return s, "no client was classed as people"
	}
	if people < enoughPeople {
		return s, fmt.Sprintf("too few: %s classed as people, at least %d are needed",
			counted(people, "client was", "clients were"), enoughPeople)
	}
	peak := percentile(w.People, people, 999)
	requests := roundUp(peak)
	s = Suggestion{Peak: peak, Rests: people, Limit: limiter.Limit{Requests: requests, Window: w.Length, Algorithm: a}}
	if err := s.Limit.Validate(); err != nil {
		return Suggestion{}, fmt.Sprintf("%s in a window is more than a limit by %s can be", number(requests), a)
	}
	s.People, s.Bots, s.Replayed = w.at(requests)
	return s, ""
}

func clientsOf(peaks []Peak) (clients int64) {
	for _, p := range peaks {
		clients += p.Clients
	}
	return clients
}

// percentile is the smallest peak that so many per mille of the clients do not exceed.
func percentile(peaks []Peak, clients, permille int64) int64 {
	rank := clients - clients*(1000-permille)/1000 // rounded up
	for _, p := range peaks {
		rank -= p.Clients
		if rank <= 0 {
			return p.Units
		}
	}
	return 0
}

// roundUp is the smallest of 1, 2, 5, 10, 20, 50 … that is at least 1.5 times peak. Beyond what a limit can be it is
// any number that no limit can be.
func roundUp(peak int64) int64 {
	const most = 1e9 // of a limit
	for decade := int64(1); decade <= most; decade *= 10 {
		for _, step := range []int64{1, 2, 5} {
			if 2*(step*decade) >= 3*min(peak, most) {
				return step * decade
			}
		}
	}
	return 2 * most
}

// at looks up what a limit of so many requests would have refused. A limit above one that refused nothing refuses
// nothing either.
func (w Window) at(requests int64) (people, bots Counts, ok bool) {
	for _, p := range w.Curve {
		refusedNothing := p.Requests < requests && p.People.Refused+p.Bots.Refused == 0
		if p.Requests == requests || refusedNothing {
			return p.People, p.Bots, true
		}
	}
	return Counts{}, Counts{}, false
}

func (c Counts) plus(d Counts) Counts {
	return Counts{c.Requests + d.Requests, c.Refused + d.Refused, c.Clients + d.Clients,
		c.ClientsRefused + d.ClientsRefused}
}

// Suggest reports the limit to suggest over the rule's own window, or why there is none.
func (r Rule) Suggest() (Suggestion, string) {
	switch {
	case r.LeftOut != "":
		return Suggestion{}, "the rule was left out"
	case len(r.Windows) == 0 || r.Total.Requests == 0:
		return Suggestion{}, "no request was under this rule"
	}
	return r.Windows[0].Suggest(r.Limit.Algorithm)
}
