package metrics

import (
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
)

// stripes says which of several copies of a counter to add to, so that processors do not wait for each other's cache
// lines. A sync.Pool hands the same token to the same processor again, mostly; where it does not, two processors share
// a stripe for a moment, which counts right and takes longer.
type stripes struct {
	pool   sync.Pool
	tokens []token
	next   atomic.Uint32
}

// token is the right to prefer a stripe.
type token struct{ stripe int }

const (
	// stripesEach is how many there are for each processor: so the tokens of two are mostly not those of one stripe.
	stripesEach = 4
	// mostStripes bounds the memory of a rule to some 80 kB.
	mostStripes = 128
)

// init makes the tokens and returns how many stripes there are.
func (s *stripes) init() int {
	n := min(stripesEach<<bits.Len(uint(runtime.GOMAXPROCS(0)-1)), mostStripes)
	s.tokens = make([]token, n)
	for i := range s.tokens {
		s.tokens[i].stripe = i
	}
	// Nothing is allocated here, as the garbage collector empties pools now and then.
	s.pool.New = func() any { return &s.tokens[s.next.Add(1)%uint32(n)] }
	return n
}

func (s *stripes) take() *token { return s.pool.Get().(*token) }

func (s *stripes) give(t *token) { s.pool.Put(t) }
