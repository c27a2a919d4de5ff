package metrics

import (
	"net/http"
	"sync/atomic"
	"time"
)

// StoreBuckets are the upper bounds of the buckets of [Durations]: from well below a round trip within a data centre to
// twice the time-out that the stores have by default.
func StoreBuckets() []time.Duration {
	bounds := storeBounds
	return bounds[:]
}

var storeBounds = [...]time.Duration{
	100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond,
	time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond,
	10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond,
}

// total has the counters of one stripe that are not about a rule.
type total struct {
	passed, refused, unavailable atomic.Uint64
	ok, failed                   durations
	_                            [64]byte // no two totals share a cache line
}

func (t *total) request(status int) {
	switch status {
	case 0:
		t.passed.Add(1)
	case http.StatusServiceUnavailable:
		t.unavailable.Add(1)
	default:
		t.refused.Add(1)
	}
}

func (t *total) store(took time.Duration, failed bool) {
	d := &t.ok
	if failed {
		d = &t.failed
	}
	i := 0
	for i < len(storeBounds) && took > storeBounds[i] {
		i++
	}
	d.counts[i].Add(1)
	d.sum.Add(uint64(took))
}

// durations is a histogram. The last of its counts is of what is above the last bound.
type durations struct {
	counts [len(storeBounds) + 1]atomic.Uint64
	sum    atomic.Uint64 // nanoseconds
}
