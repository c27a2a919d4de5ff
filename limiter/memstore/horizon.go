package memstore

import (
	"sync"
	"sync/atomic"
)

// horizon knows where in the store something may have expired, so that a newcomer to a full store finds it without
// going through everything.
type horizon struct {
	// dues holds a time for each stripe before which nothing in it expires. Written under the stripe's lock.
	dues []atomic.Int64
	// earliest is a lower bound of dues. It is written under mu, after the due that it follows, so that a scan
	// of dues that runs at the same time cannot miss both.
	earliest atomic.Int64
	mu       sync.Mutex
	from     int          // where the next scan begins
	credit   atomic.Int64 // slots that newcomers may still have swept
}

const (
	// mostCredit bounds what one operation may sweep, in slots: about one millisecond.
	mostCredit = 1 << 18
	// creditEach is what an operation on a full store adds to the credit. When expired counters are so few and
	// far between that a sweep costs more than that for each of them, newcomers no longer wait for them, and
	// take the place of a live counter instead.
	creditEach = 64
)

func (h *horizon) init(stripes int) {
	h.dues = make([]atomic.Int64, stripes)
	for i := range h.dues {
		h.dues[i].Store(never)
	}
	h.earliest.Store(never)
	h.credit.Store(mostCredit)
}

// passed reports whether something may have expired.
func (h *horizon) passed(now int64) bool { return h.earliest.Load() <= now }

// lower notes that something in a stripe expires at that time. The caller holds the stripe's lock.
func (h *horizon) lower(stripe int, at int64) {
	if at >= h.dues[stripe].Load() {
		return
	}
	h.dues[stripe].Store(at)
	h.mu.Lock()
	defer h.mu.Unlock()
	if at < h.earliest.Load() {
		h.earliest.Store(at)
	}
}

// next returns a stripe in which something may have expired. If there is none, it finds out when there will be.
func (h *horizon) next(now int64) (stripe int, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	earliest := int64(never)
	for i := range h.dues {
		stripe := (h.from + i) & (len(h.dues) - 1)
		due := h.dues[stripe].Load()
		if due <= now {
			h.from = stripe + 1
			return stripe, true
		}
		earliest = min(earliest, due)
	}
	h.earliest.Store(earliest)
	return 0, false
}
