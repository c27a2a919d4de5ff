package limitertest

import (
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

func testRandomBatches(s *storeTest) {
	for seed := range uint64(3) {
		st := newStream(s, seed, still, still-time.Hour)
		for range 150 {
			st.step()
		}
	}
}

func testRandomBatchesOverTime(s *storeTest) {
	for seed := range uint64(4) {
		st := newStream(s, seed, time.Second, 701*time.Millisecond)
		for range 200 {
			s.Advance(st.pause())
			st.step()
		}
	}
}

// stream takes random batches. The same seed makes the same stream.
type stream struct {
	*storeTest
	random  *rand.Rand
	seed    uint64
	windows []time.Duration
	spent   []limiter.Charge // what may be refunded
	retry   time.Duration    // the latest RetryAfter
}

func newStream(s *storeTest, seed uint64, windows ...time.Duration) *stream {
	return &stream{storeTest: s, random: rand.New(rand.NewPCG(seed, uint64(s.algorithm))), seed: seed, windows: windows}
}

// step takes one batch, of one to five charges.
func (st *stream) step() {
	st.Helper()
	charges := make([]limiter.Charge, 1+st.random.IntN(5))
	for i := range charges {
		charges[i] = st.charge()
		for _, other := range charges[:i] {
			// The contract does not say at which rate a bucket refills that a batch asks at two rates.
			if counterOf(&charges[i]) == counterOf(&other) && st.algorithm == limiter.TokenBucket {
				charges[i].Limit = other.Limit
			}
		}
	}
	st.resetFullBuckets(charges...)
	answers, taken := st.take(charges...)
	for i, c := range answers {
		if taken && c.Cost > 0 && c.Allowed && c.Mode != limiter.Peek {
			st.spent = append(st.spent, answers[i])
		}
		if c.RetryAfter != limiter.Never {
			st.retry = c.RetryAfter
		}
	}
	if st.random.IntN(40) == 0 {
		st.reset(charges[0])
	}
}

func (st *stream) charge() limiter.Charge {
	if len(st.spent) > 0 && st.random.IntN(6) == 0 {
		return st.refund()
	}
	limit := st.per(pick[int64](st.random, 3, 10, 10, 47), pick(st.random, st.windows...))
	if st.algorithm == limiter.TokenBucket {
		limit.Burst = pick[int64](st.random, 0, 0, 5, 60)
	}
	if st.random.IntN(20) == 0 {
		limit.Requests, limit.Burst = 0, 0
	}
	whole := capacity(limit)
	c := limiter.Charge{
		Scope: pick(st.random, "x", "y") + strconv.FormatUint(st.seed, 10),
		Key:   pick(st.random, "a", "a", "b"),
		Limit: limit,
		Cost:  pick(st.random, 0, 1, 1, 1, 1, 2, 3, whole/2, whole, whole+1, math.MaxInt64),
		Mode: pick(st.random, limiter.Enforce, limiter.Enforce, limiter.Enforce, limiter.Shadow, limiter.Peek,
			limiter.Force),
	}
	if c.Mode == limiter.Force {
		c.Cost = min(c.Cost, 2*whole)
	}
	return c
}

// refund returns a refund of some of what was spent, or of more, now and then without its State.
func (st *stream) refund() limiter.Charge {
	c := st.spent[st.random.IntN(len(st.spent))]
	c.Mode, c.Cost, c.Decision = pick(st.random, limiter.Enforce, limiter.Shadow, limiter.Force),
		-1-st.random.Int64N(c.Cost+2), limiter.Decision{}
	if st.random.IntN(4) == 0 {
		c.State = limiter.State{}
	}
	return c
}

// pause returns for how long nothing happens: mostly not at all, else up to the latest RetryAfter or some windows.
func (st *stream) pause() time.Duration {
	window := st.windows[0].Milliseconds()
	ms := pick(st.random, 0, 0, 0, 1, st.random.Int64N(50), st.random.Int64N(window), window, st.random.Int64N(5*window),
		st.retry.Milliseconds()-1, st.retry.Milliseconds())
	return time.Duration(max(0, ms)) * time.Millisecond
}

func pick[T any](random *rand.Rand, from ...T) T { return from[random.IntN(len(from))] }
