package console

import (
	"net/http"

	"github.com/httplimit/httplimit"
)

// What a decision is counted as: each pair of Result and Source that there is, so that a decision costs one addition.
const (
	unjudged = iota
	allowedStore
	allowedLocal
	nearStore // allowed as well, with less than a fifth of the limit left
	nearLocal
	refusedStore
	refusedCache
	refusedLocal
	shadowStore
	shadowCache
	shadowLocal
	bannedStore
	bannedCache
	open
	closed
	kinds
)

// What became of a request. They stand behind the kinds in a tally.
const (
	passed = kinds + iota
	refused
	unavailable
	tallied
)

// near is how far the kinds of decisions near the limit stand behind those of others that allow.
const near = nearStore - allowedStore

// kindOf says what a decision is counted as, by Result and Source.
var kindOf = [8][4]uint8{
	httplimit.ResultUnjudged:      {unjudged, unjudged, unjudged, unjudged},
	httplimit.ResultAllowed:       {allowedStore, allowedStore, allowedStore, allowedLocal},
	httplimit.ResultRefused:       {refusedStore, refusedStore, refusedCache, refusedLocal},
	httplimit.ResultShadowRefused: {shadowStore, shadowStore, shadowCache, shadowLocal},
	httplimit.ResultBanned:        {bannedStore, bannedStore, bannedCache, bannedStore},
	httplimit.ResultOpen:          {open, open, open, open},
	httplimit.ResultClosed:        {closed, closed, closed, closed},
}

// fateOf says what becomes of a request if a decision of this kind is the one that counts.
var fateOf = [kinds]uint8{
	unjudged: passed, allowedStore: passed, allowedLocal: passed, nearStore: passed, nearLocal: passed,
	shadowStore: passed, shadowCache: passed, shadowLocal: passed, open: passed,
	refusedStore: refused, refusedCache: refused, refusedLocal: refused, bannedStore: refused, bannedCache: refused,
	closed: unavailable,
}

// fateOfStatus says what became of a request, by the status of an Observation.
func fateOfStatus(status int) uint8 {
	switch status {
	case 0:
		return passed
	case http.StatusServiceUnavailable:
		return unavailable
	}
	return refused
}

// counter is where a decision is counted: its kind, or kind + kinds. Of the decisions of one request, the first that
// agrees with what became of it is counted in the first half, and so counts the request as well. That saves each
// request an atomic addition, which costs as much as all the rest of counting a decision that allows.
type counter uint8

const counterCount = 2 * kinds

// without returns the counter of a decision that does not count its request.
func without(kind uint8) counter { return counter(kind + kinds) }

// anyOf has a counter for what became of a request that no decision counts, passed first. Its kind does not matter.
var anyOf = [...]counter{open, refusedStore, closed}

// counted are the counters of one second.
type counted [counterCount]uint32

// tally is what was counted in one second or over several: decisions by their kind, and requests.
type tally [tallied]uint64

func (t *tally) add(other *tally) {
	for i := range t {
		t[i] += other[i]
	}
}
