package otellimit

import (
	"errors"

	"github.com/httplimit/httplimit/metrics"
	"go.opentelemetry.io/otel/metric"
)

// instruments are the metrics, in the order of the README's table.
type instruments struct {
	decisions, requests, cost, refunded, nearLimit metric.Int64ObservableCounter
	storeDuration                                  metric.Float64Histogram
	ruleLimit, ruleDegraded                        metric.Int64ObservableGauge
	entries, capacity                              metric.Int64ObservableGauge
	evicted, overflowed                            metric.Int64ObservableCounter
	flightSize                                     metric.Float64Histogram
	calls                                          metric.Int64ObservableCounter
	waiting, breakerOpen                           metric.Int64ObservableGauge

	observed []metric.Observable // all but the histograms
}

func newInstruments(meter metric.Meter) (*instruments, error) {
	m := maker{meter: meter}
	i := &instruments{
		decisions: m.counter("decisions", "{decision}", "Decisions of rules on requests, by result and by who decided."),
		requests:  m.counter("requests", "{request}", "Requests by what became of them."),
		cost: m.counter("cost", "{unit}", "Units that requests were charged, and then by Spend, before what was given "+
			"back. Those of a result that is not allowed were only asked for."),
		refunded: m.counter("refunded", "{unit}", "Units that were given back after the decision."),
		nearLimit: m.counter("near_limit", "{decision}", "Requests that a rule allowed and that left under a fifth of "+
			"the limit."),
		storeDuration: m.histogram("store.duration", "s", "How long calls to remote stores took, one for each request "+
			"that asked.", seconds()),
		ruleLimit:    m.gauge("rule.limit", "{unit}", "Units per window of the limits in force."),
		ruleDegraded: m.gauge("rule.degraded", "", "Whether the store could not decide the rule lately."),
		entries:      m.gauge("store.entries", "{entry}", "Counters that the store keeps in this process."),
		capacity:     m.gauge("store.capacity", "{entry}", "How many counters the store keeps at most."),
		evicted:      m.counter("store.evicted", "{entry}", "Counters that were forgotten for lack of space."),
		overflowed: m.counter("store.overflowed", "{decision}", "Decisions made from shared cells for lack of space, "+
			"which may refuse too early."),
		flightSize: m.histogram("store.flight.size", "{batch}", "Batches of callers that one call to a server carried.",
			[]float64{1, 2, 4, 8, 16, 32, 64, 128}),
		calls:   m.counter("store.calls", "{call}", "Calls to a server."),
		waiting: m.gauge("store.waiting", "{batch}", "Batches of callers that wait for a server now."),
		breakerOpen: m.gauge("store.breaker.open", "", "Whether the server is only probed, because its calls "+
			"failed."),
	}
	i.observed = m.observed
	return i, errors.Join(m.faults...)
}

// seconds returns the bounds of the buckets of store.duration.
func seconds() (bounds []float64) {
	for _, bound := range metrics.StoreBuckets() {
		bounds = append(bounds, bound.Seconds())
	}
	return bounds
}

// maker makes instruments and collects what fails.
type maker struct {
	meter    metric.Meter
	observed []metric.Observable
	faults   []error
}

const prefix = "httplimit."

func (m *maker) counter(name, unit, description string) metric.Int64ObservableCounter {
	i, err := m.meter.Int64ObservableCounter(prefix+name, metric.WithUnit(unit), metric.WithDescription(description))
	m.made(i, err)
	return i
}

func (m *maker) gauge(name, unit, description string) metric.Int64ObservableGauge {
	i, err := m.meter.Int64ObservableGauge(prefix+name, metric.WithUnit(unit), metric.WithDescription(description))
	m.made(i, err)
	return i
}

func (m *maker) made(i metric.Observable, err error) {
	m.observed, m.faults = append(m.observed, i), append(m.faults, err)
}

func (m *maker) histogram(name, unit, description string, bounds []float64) metric.Float64Histogram {
	i, err := m.meter.Float64Histogram(prefix+name, metric.WithUnit(unit), metric.WithDescription(description),
		metric.WithExplicitBucketBoundaries(bounds...))
	m.faults = append(m.faults, err)
	return i
}
