package otellimit

import (
	"context"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/metrics"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// serverID is what servers are told apart by.
type serverID struct{ store, address string }

// flightSizes are the flights of a server by size, as the store counts them, and their callers.
type flightSizes struct {
	counts  [len(limiter.ServerStats{}.FlightSizes)]uint64
	callers uint64
}

// mostRecords bounds what one collection records for each server to some 0.3 ms.
const mostRecords = 1000

// recordFlights records the flights since the last collection: OpenTelemetry has no histogram that is observed. Of more
// than mostRecords for a server it records as many, in the same proportions: so the distribution is right, and their
// number is that of store.calls. The caller holds r.mu.
func (r *reader) recordFlights(ctx context.Context, stores []metrics.Store) {
	seen := make(map[serverID]flightSizes)
	for i := range stores {
		for j := range stores[i].Servers {
			s := &stores[i].Servers[j]
			id, now := serverID{stores[i].Label, s.Address}, flightSizes{s.FlightSizes, s.Callers}
			seen[id] = now
			attributes := metric.WithAttributeSet(attribute.NewSet(storeKey.String(id.store), serverKey.String(id.address)))
			now.since(r.seen[id]).record(mostRecords, func(size float64) { r.flightSize.Record(ctx, size, attributes) })
		}
	}
	r.seen = seen
}

// since returns what came after before. If it has less of anything, the store is a new one.
func (f flightSizes) since(before flightSizes) flightSizes {
	if f.callers < before.callers {
		return f
	}
	for i := range f.counts {
		if f.counts[i] < before.counts[i] {
			return f
		}
	}
	for i := range f.counts {
		f.counts[i] -= before.counts[i]
	}
	f.callers -= before.callers
	return f
}

// record calls add with the sizes of the flights, of which it is known in which bucket they are and what they add up
// to: so in each bucket it is a value as far from the bucket's smallest to its largest size. Above most it is a sample.
func (f flightSizes) record(most uint64, add func(size float64)) {
	var flights, least, spread uint64 // the smallest sum that these flights can have, and how far it is to the largest
	for i, n := range f.counts {
		low, high := sizesOf(i)
		flights, least, spread = flights+n, least+n*low, spread+n*(high-low)
	}
	if flights == 0 {
		return
	}
	part := 0.0
	if f.callers > least && spread > 0 {
		part = min(1, float64(f.callers-least)/float64(spread))
	}
	recorded, passed := uint64(0), uint64(0)
	for i, n := range f.counts {
		low, high := sizesOf(i)
		size := float64(low) + part*float64(high-low)
		passed += n
		for ; recorded < passed*min(flights, most)/flights; recorded++ {
			add(size)
		}
	}
}

// sizesOf returns the smallest and the largest size of flights that ServerStats.FlightSizes[i] counts. The largest of
// the last one is not known.
func sizesOf(i int) (low, high uint64) {
	if i == 0 {
		return 1, 1
	}
	return 1<<(i-1) + 1, 1 << i
}
